#include "server/compat/fields.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/json_counter.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kLongestName = 1024;
constexpr char kFile[] = "file";

using nlohmann::json;

absl::Status Wrong(const std::string& name, const char* should) {
  return absl::InvalidArgumentError(absl::StrCat(name, ": ", should));
}

bool IsText(const json& value) {
  return !value.is_string() || !FirstInvalidText(value.get_ref<const std::string&>()).has_value();
}

// Forms and targets may hold any bytes; JSON holds text only, and cannot be written of anything else.
absl::Status CheckText(const json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (FirstInvalidText(name).has_value()) {
      return absl::InvalidArgumentError("the name of a field is not UTF-8, or has a NUL");
    }
    const bool is_text = value.is_array() ? std::all_of(value.begin(), value.end(), IsText) : IsText(value);
    if (!is_text) return Wrong(name, "is not UTF-8, or has a NUL");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNameLength(const std::string& what, std::string_view name) {
  if (name.size() <= kLongestName) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", name.size(), " bytes; at most ", kLongestName, " are taken"));
}

absl::StatusOr<json> ParseJson(std::string_view text) {
  JsonCounter counter(kMaxJsonValues, kMaxJsonDepth);
  if (!json::sax_parse(text, &counter)) {
    if (counter.error_position() > 0) {
      return absl::InvalidArgumentError(absl::StrCat("not JSON: an error at byte ", counter.error_position()));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("JSON with more than ", kMaxJsonValues, " values, or deeper than ", kMaxJsonDepth, " levels"));
  }
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<Fields> Fields::Read(const HttpRequest& request) {
  Fields fields;
  const std::string type = request.header("Content-Type");
  const std::string_view body = request.body;
  if (absl::StartsWithIgnoreCase(type, "multipart/")) {
    auto parts = ParseMultipart(type, body);
    if (!parts.ok()) return parts.status();
    for (FormPart& part : *parts) {
      // A file may be sent without a name: DeepL's clients may send the name as the field `filename`.
      if (part.file_name.empty() && part.name != kFile) {
        fields.Add(part.name, std::string(part.content));
      } else {
        fields.files_.push_back(std::move(part));
      }
    }
  } else if (absl::StartsWithIgnoreCase(type, "application/json") || (!body.empty() && body[0] == '{')) {
    auto value = ParseJson(body.empty() ? "{}" : body);
    if (!value.ok()) return absl::InvalidArgumentError(absl::StrCat("the body is ", value.status().message()));
    if (!value->is_object()) return absl::InvalidArgumentError("the body is JSON, but not an object");
    fields.values_ = *std::move(value);
  } else {
    FormFields form;
    if (std::count(body.begin(), body.end(), '&') > kMaxJsonValues || !ParseForm(body, form)) {
      return absl::InvalidArgumentError("the body is not a form: an escape is wrong, or there are too many fields");
    }
    for (auto& [name, value] : form) fields.Add(name, std::move(value));
  }
  for (auto at = request.query.begin(); at != request.query.end();) {
    const auto end = request.query.upper_bound(at->first);
    const bool in_body = fields.values_.contains(at->first);
    for (; at != end; ++at) {
      if (!in_body) fields.Add(at->first, at->second);
    }
  }
  if (absl::Status status = CheckText(fields.values_); !status.ok()) return status;
  return fields;
}

void Fields::Add(const std::string& name, std::string value) {
  json& there = values_[name];
  if (there.is_null()) {
    there = std::move(value);
    return;
  }
  if (there.is_string()) there = json::array({std::move(there)});
  there.push_back(std::move(value));
}

const FormPart* Fields::File(std::string_view name) const {
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const FormPart& part) { return part.name == name; });
  return found == files_.end() ? nullptr : &*found;
}

absl::StatusOr<std::string> Fields::String(const std::string& name) const {
  if (!Has(name)) return "";
  const json& value = values_[name];
  if (!value.is_string()) return Wrong(name, value.is_array() ? "has several values; send one" : "is not a string");
  return value.get<std::string>();
}

absl::StatusOr<std::vector<std::string>> Fields::Strings(const std::string& name) const {
  std::vector<std::string> strings;
  if (!Has(name)) return strings;
  const json& value = values_[name];
  if (value.is_string()) return std::vector<std::string>{value.get<std::string>()};
  if (!value.is_array()) return Wrong(name, "is neither a string nor a list of strings");
  for (const json& one : value) {
    if (!one.is_string()) return Wrong(name, "has something in its list that is not a string");
    strings.push_back(one.get<std::string>());
  }
  return strings;
}

absl::StatusOr<std::vector<std::string>> Fields::List(const std::string& name) const {
  auto strings = Strings(name);
  if (!strings.ok()) return strings;
  std::vector<std::string> list;
  for (const std::string& one : *strings) {
    for (const auto& word : absl::StrSplit(one, ',', absl::SkipWhitespace())) {
      list.emplace_back(absl::StripAsciiWhitespace(word));
    }
  }
  return list;
}

absl::StatusOr<std::optional<bool>> Fields::Bool(const std::string& name) const {
  if (!Has(name)) return std::nullopt;
  const json& value = values_[name];
  if (value.is_boolean()) return value.get<bool>();
  if (value == "1" || value == "true" || value == 1) return true;
  if (value == "0" || value == "false" || value == 0) return false;
  return Wrong(name, "is neither true nor false");
}

absl::StatusOr<int> Fields::Int(const std::string& name) const {
  if (!Has(name)) return 0;
  const json& value = values_[name];
  int number = 0;
  if (value.is_string() && absl::SimpleAtoi(value.get<std::string>(), &number)) return number;
  if (value.is_number_integer() && absl::SimpleAtoi(value.dump(), &number)) return number;
  return Wrong(name, "is not a whole number");
}

std::string Fields::OtherThan(const std::vector<std::string_view>& known) const {
  std::string others;
  for (const auto& [name, value] : values_.items()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    absl::StrAppend(&others, others.empty() ? "" : ", ", name);
  }
  return others;
}

}  // namespace salient
