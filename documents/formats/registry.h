// Which formats there are, and which one a document is of. Names only: a client needs no more. parsers.h reads them.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct Format {
  std::string_view name;       // as `--format` takes it: "markdown"
  std::string_view mime_type;  // as replies have it
  std::vector<std::string_view> other_mime_types;
  std::vector<std::string_view> extensions;  // without the dot, lower case
  bool is_binary = false;                    // not text that a terminal can show
};

const std::vector<Format>& AllFormats();

// By name, by MIME type (parameters such as "; charset=utf-8" do not count), or by a file's name. INVALID_ARGUMENT
// lists what there is.
absl::StatusOr<const Format*> FormatNamed(std::string_view name);
absl::StatusOr<const Format*> FormatOfMimeType(std::string_view mime_type);
absl::StatusOr<const Format*> FormatOfFile(std::string_view file_name);

}  // namespace salient
