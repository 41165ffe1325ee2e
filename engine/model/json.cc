#include "engine/model/json.h"

#include <cmath>
#include <limits>

#include "engine/base/json_counter.h"

namespace salient {
namespace {

constexpr size_t kMaxDepth = 16;
constexpr size_t kExcerptBytes = 60;

// Finds what the parser itself accepts and we do not, before anything is built: too much nesting, too many values and
// repeated fields. (A callback of the parser that builds would do so, too, but with each it searches what encloses the
// value: for a list of objects that takes the square of their number.)
class Watch final : public JsonCounter {
 public:
  explicit Watch(size_t most_values) : JsonCounter(most_values, kMaxDepth) {}

  bool start_object(size_t size) override {
    fields_.emplace_back();
    return JsonCounter::start_object(size);
  }
  bool key(string_t& name) override {
    if (!fields_.back().insert(name).second && repeated_.empty()) repeated_ = JsonExcerpt(Json(name));
    return true;
  }
  bool end_object() override {
    fields_.pop_back();
    return JsonCounter::end_object();
  }

  const std::string& repeated() const { return repeated_; }

 private:
  std::vector<std::set<std::string>> fields_;  // of the objects that are open
  std::string repeated_;
};

const Json& EmptyObject() {
  static const Json empty = Json::object();
  return empty;
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text, const std::string& file, const JsonBounds& bounds) {
  if (text.size() > bounds.bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " has ", text.size(), " bytes of JSON; at most ", bounds.bytes, " are read"));
  }
  Watch watch(bounds.values);
  const bool valid = Json::sax_parse(text, &watch);
  if (watch.too_deep()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is nested more than ", kMaxDepth, " deep"));
  }
  if (watch.too_many()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has more than ", bounds.values, " values"));
  }
  if (!valid) return absl::InvalidArgumentError(absl::StrCat(file, " is not valid JSON"));
  if (!watch.repeated().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has the field ", watch.repeated(), " twice in one object"));
  }
  return Json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string JsonExcerpt(const Json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  if (text.size() > kExcerptBytes) text = text.substr(0, kExcerptBytes) + "...";
  return text;
}

JsonObject::JsonObject(const Json& value, std::string prefix, std::string path, absl::Status& status)
    : value_(value.is_object() ? value : EmptyObject()),
      prefix_(std::move(prefix)),
      path_(std::move(path)),
      status_(status) {
  if (!value.is_object() && status_.ok()) {
    status_ = absl::InvalidArgumentError(absl::StrCat(prefix_, path_.empty() ? "the top level" : path_, " is ",
                                                      JsonExcerpt(value), "; it must be an object"));
  }
}

std::string JsonObject::PathOf(const std::string& name) const {
  return path_.empty() ? name : absl::StrCat(path_, ".", name);
}

void JsonObject::Fail(const std::string& name, absl::string_view must) {
  if (!status_.ok()) return;
  const auto found = value_.find(name);
  status_ = absl::InvalidArgumentError(
      found == value_.end() ? absl::StrCat(prefix_, PathOf(name), " is missing")
                            : absl::StrCat(prefix_, PathOf(name), " is ", JsonExcerpt(*found), "; ", must));
}

const Json* JsonObject::Find(const std::string& name) {
  asked_.insert(name);
  const auto found = value_.find(name);
  if (found != value_.end()) return &*found;
  Fail(name, "");
  return nullptr;
}

bool JsonObject::Has(const std::string& name) {
  asked_.insert(name);
  const auto found = value_.find(name);
  return found != value_.end() && !found->is_null();
}

bool JsonObject::IsNull(const std::string& name) {
  const Json* found = Find(name);
  return found != nullptr && found->is_null();
}

int64_t JsonObject::Integer(const std::string& name, int64_t least, int64_t greatest) {
  const Json* found = Find(name);
  if (found == nullptr) return least;
  // An unsigned number greater than int64's maximum would wrap around.
  const bool fits = found->is_number_integer() &&
                    (!found->is_number_unsigned() ||
                     found->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
  const int64_t value = fits ? found->get<int64_t>() : least;
  if (fits && value >= least && value <= greatest) return value;
  Fail(name, absl::StrCat("it must be a whole number from ", least, " to ", greatest));
  return least;
}

double JsonObject::Number(const std::string& name, double least, double greatest) {
  const Json* found = Find(name);
  if (found == nullptr) return least;
  const double value = found->is_number() ? found->get<double>() : least;
  if (found->is_number() && std::isfinite(value) && value >= least && value <= greatest) return value;
  Fail(name, absl::StrCat("it must be a number from ", least, " to ", greatest));
  return least;
}

bool JsonObject::Boolean(const std::string& name) {
  const Json* found = Find(name);
  if (found == nullptr) return false;
  if (found->is_boolean()) return found->get<bool>();
  Fail(name, "it must be true or false");
  return false;
}

std::string JsonObject::String(const std::string& name) {
  const Json* found = Find(name);
  if (found == nullptr) return "";
  if (found->is_string()) return found->get<std::string>();
  Fail(name, "it must be a string");
  return "";
}

JsonObject JsonObject::Object(const std::string& name) {
  const Json* found = Find(name);
  return JsonObject(found == nullptr ? EmptyObject() : *found, prefix_, PathOf(name), status_);
}

const Json::array_t& JsonObject::Array(const std::string& name) {
  static const Json::array_t empty;
  const Json* found = Find(name);
  if (found == nullptr) return empty;
  if (found->is_array()) return found->get_ref<const Json::array_t&>();
  Fail(name, "it must be an array");
  return empty;
}

std::vector<double> JsonObject::Numbers(const std::string& name) {
  std::vector<double> numbers;
  for (const Json& value : Array(name)) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      Fail(name, "it must be an array of numbers");
      return {};
    }
    numbers.push_back(value.get<double>());
  }
  return numbers;
}

std::vector<std::string> JsonObject::Strings(const std::string& name) {
  std::vector<std::string> strings;
  for (const Json& value : Array(name)) {
    if (!value.is_string()) {
      Fail(name, "it must be an array of strings");
      return {};
    }
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

std::vector<std::string> JsonObject::Names() const {
  std::vector<std::string> names;
  if (!value_.is_object()) return names;
  for (const auto& [name, value] : value_.items()) names.push_back(name);
  return names;
}

void JsonObject::Finish() {
  for (const auto& [name, value] : value_.items()) {
    if (asked_.contains(name)) continue;
    if (status_.ok()) {
      const std::string shown = JsonExcerpt(Json(name));
      status_ = absl::InvalidArgumentError(absl::StrCat(prefix_, PathOf(shown.substr(1, shown.size() - 2)),
                                                        " is not a field that this version knows; remove it"));
    }
    return;
  }
}

}  // namespace salient
