// The fields of a request, from a JSON object, a form, a form with files, or the query of its target.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "server/compat/multipart.h"
#include "server/http/message.h"

namespace salient {

// JSON that is nested deeper or has more values than any of these APIs needs is refused before it is stored.
constexpr int kMaxJsonDepth = 16;
constexpr int kMaxJsonValues = 20000;
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Names are kept, and lists of glossaries have all names. INVALID_ARGUMENT says what is too long: "file: its name has
// ...".
absl::Status CheckNameLength(const std::string& what, std::string_view name);

class Fields {
 public:
  // Content-Type says what the body is; a body that begins with "{" is read as JSON in any case. INVALID_ARGUMENT says
  // what is wrong with the body. Of a form with files the part `file` is one even if it has no name of a file.
  // `request` must outlive the result, since files refer to its body.
  static absl::StatusOr<Fields> Read(const HttpRequest& request);

  bool Has(const std::string& name) const { return values_.contains(name) && !values_[name].is_null(); }
  const nlohmann::json& values() const { return values_; }
  const FormPart* File(std::string_view name) const;

  // A missing field is empty. INVALID_ARGUMENT names the field and what is wrong with its value.
  absl::StatusOr<std::string> String(const std::string& name) const;
  absl::StatusOr<std::vector<std::string>> Strings(const std::string& name) const;  // one, or a list
  absl::StatusOr<std::vector<std::string>> List(const std::string& name) const;     // as Strings, "a,b" being two
  absl::StatusOr<std::optional<bool>> Bool(const std::string& name) const;          // true, false, "1", "0"
  absl::StatusOr<int> Int(const std::string& name) const;                           // 0 where it is not there

  // The names that are not among `known`, with a comma between them.
  std::string OtherThan(const std::vector<std::string_view>& known) const;

 private:
  void Add(const std::string& name, std::string value);

  nlohmann::json values_ = nlohmann::json::object();
  std::vector<FormPart> files_;
};

}  // namespace salient
