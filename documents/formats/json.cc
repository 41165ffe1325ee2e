// JSON: strings that are values are translated. These are not: keys, identifiers ("user_id"), and everything under keys
// that begin with "@" or "$" (metadata in ARB files and in JSON Schema).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/units/string_unit.h"

namespace salient {
namespace {

// Checks that the document is valid JSON, and how deep it nests.
class Checker : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Checker(int32_t max_depth) : max_depth_(max_depth) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    const std::string reason = error.what();
    const size_t colon = reason.rfind("syntax error");
    status = absl::InvalidArgumentError(absl::StrCat(
        "JSON: byte ", position, " is wrong: ", colon == std::string::npos ? reason : reason.substr(colon)));
    return false;
  }

  absl::Status status;

 private:
  bool Enter() {
    if (++depth_ <= max_depth_) return true;
    status = absl::ResourceExhaustedError(absl::StrCat("JSON: objects and arrays lie more than ", max_depth_,
                                                       " deep in each other; flatten the document"));
    return false;
  }
  bool Leave() { return --depth_ >= 0; }

  const int32_t max_depth_;
  int32_t depth_ = 0;
};

std::string Encode(const std::string& value) {
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Finds the strings of a document that was checked.
class JsonReader {
 public:
  JsonReader(std::string_view bytes, const ParseOptions& options)
      : bytes_(bytes), options_(options), keep_terms_(options.keep_terms) {}

  std::vector<PlacedUnit> Read() {
    for (size_t at = 0; at < bytes_.size();) {
      const char c = bytes_[at];
      if (c == '"') {
        const size_t end = StringEnd(at);
        TakeString({at, end});
        if (HasTooManyUnits(units_.size(), options_.limits)) break;
        at = end;
        continue;
      }
      if (c == '{' || c == '[') open_.push_back({c == '{', c == '{', Skips()});
      if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
      if (c == ':' && !open_.empty()) open_.back().key_next = false;
      if (c == ',' && !open_.empty()) open_.back().key_next = open_.back().is_object;
      ++at;
    }
    return std::move(units_);
  }

 private:
  struct Container {
    bool is_object = false, key_next = false;
    bool skips = false;        // nothing within is translated
    bool skips_value = false;  // the value of the last key is not translated
  };

  bool Skips() const { return !open_.empty() && (open_.back().skips || open_.back().skips_value); }

  size_t StringEnd(size_t at) const {
    for (++at; at < bytes_.size() && bytes_[at] != '"'; ++at) at += bytes_[at] == '\\';
    return std::min(at + 1, bytes_.size());
  }

  void TakeString(ByteRange range) {
    const std::string_view raw = bytes_.substr(range.begin, range.end - range.begin);
    if (!open_.empty() && open_.back().key_next) {
      open_.back().skips_value = raw.starts_with("\"@") || raw.starts_with("\"$");
      return;
    }
    if (Skips()) return;
    const nlohmann::json value = nlohmann::json::parse(raw, nullptr, /*allow_exceptions=*/false);
    if (!value.is_string()) return;
    const auto& text = value.get_ref<const std::string&>();
    PlacedUnit unit;
    if (LooksLikeCode(text) || !MakeStringUnit(text, range, keep_terms_, Encode, &unit, options_.source_language)) {
      return;
    }
    units_.push_back(std::move(unit));
  }

  const std::string_view bytes_;
  const ParseOptions& options_;
  const KeptTerms keep_terms_;
  std::vector<Container> open_;
  std::vector<PlacedUnit> units_;
};

}  // namespace

ParsedDocument ParseJson(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "JSON", options.limits); !status.ok()) return status;
  Checker checker(options.limits.max_depth);
  const bool valid = nlohmann::json::sax_parse(bytes, &checker);
  if (!checker.status.ok()) return checker.status;
  if (!valid) return absl::InvalidArgumentError("JSON: the document cannot be read");
  return MakePatchedDocument(PatchedText(std::string(bytes), JsonReader(bytes, options).Read(), {}), options.limits);
}

}  // namespace salient
