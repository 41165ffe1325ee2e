// multipart/form-data (RFC 7578): the fields and files of a form, as browsers and HTTP clients send them.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct FormPart {
  std::string name;
  std::string file_name;     // empty: not a file
  std::string content_type;  // empty: none was given
  std::string_view content;  // within the body
};

constexpr size_t kMaxFormParts = 2000;
constexpr size_t kMaxPartHeader = 8 << 10;  // of one part

// `content_type` is the request's, which tells the boundary. INVALID_ARGUMENT says what is wrong. The parts refer to
// `body`; time and memory beside it are linear in its length, and the number and headers of parts are bounded.
absl::StatusOr<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body);

}  // namespace salient
