// Reads untrusted JSON: size, depth and number of values are bounded, duplicate fields are errors, and errors name the
// file and the field.
//
//   absl::StatusOr<Json> json = ParseJson(text, "config.json", {.bytes = 1 << 20});
//   absl::Status status;
//   JsonObject object(*json, "config.json: ", "", status);
//   config.heads = object.Integer("heads", 1, 128);        // "config.json: heads is 0; it must be 1 to 128"
//   object.Finish();                                       // "config.json: haeds is not a known field"
//   if (!status.ok()) return status;                       // the first error of all of these
//
// After an error every getter returns a value within its bounds, so that reading can safely continue. Not thread safe.

#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace salient {

using Json = nlohmann::json;

// The most that a text may have. A value of two bytes, such as {}, takes a hundred once it is parsed.
struct JsonBounds {
  size_t bytes = 0;
  size_t values = 50000;  // numbers, strings, arrays and so on; names of fields do not count
};

// INVALID_ARGUMENT that begins with `file` if the text exceeds the bounds, is not JSON, is nested more than 16 levels
// deep, or has duplicate fields in an object.
absl::StatusOr<Json> ParseJson(std::string_view text, const std::string& file, const JsonBounds& bounds);

// A value for an error message: short and printable.
std::string JsonExcerpt(const Json& value);

// The fields of one object. Keeps references to the value and the status, which must outlive it.
class JsonObject {
 public:
  // `prefix` begins every error ("config.json: "); `path` says where the object is ("encoder.ffn"), empty at the top.
  JsonObject(const Json& value, std::string prefix, std::string path, absl::Status& status);

  bool Has(const std::string& name);     // present and not null
  bool IsNull(const std::string& name);  // present and null; a missing field is an error
  int64_t Integer(const std::string& name, int64_t least, int64_t greatest);
  double Number(const std::string& name, double least, double greatest);  // finite
  bool Boolean(const std::string& name);
  std::string String(const std::string& name);
  JsonObject Object(const std::string& name);
  std::vector<double> Numbers(const std::string& name);  // an array of finite numbers
  std::vector<std::string> Strings(const std::string& name);
  const Json::array_t& Array(const std::string& name);
  std::vector<std::string> Names() const;  // of its fields

  // A string that must be one of the choices.
  template <typename Value>
  Value Choice(const std::string& name, std::initializer_list<std::pair<const char*, Value>> choices) {
    const std::string word = String(name);
    std::string known;
    for (const auto& [text, value] : choices) {
      if (word == text) return value;
      absl::StrAppend(&known, known.empty() ? "" : ", ", text);
    }
    Fail(name, absl::StrCat("it must be one of ", known));
    return choices.begin()->second;
  }

  // Records the error "<path>.<name> is <value>; <must>" unless there is an earlier error.
  void Fail(const std::string& name, absl::string_view must);
  // Fails if the object has a field that no getter read.
  void Finish();

  std::string PathOf(const std::string& name) const;

 private:
  const Json* Find(const std::string& name);

  const Json& value_;
  std::string prefix_, path_;
  absl::Status& status_;
  std::set<std::string> asked_;
};

}  // namespace salient
