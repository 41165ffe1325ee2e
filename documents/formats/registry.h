// The known formats, and finding the format of a document. Names only, which is all that a client needs; parsers.h has
// the parsers.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct Format {
  std::string_view name;                           // the value of `--format`: "markdown"
  std::string_view mime_type;                      // as in replies
  std::vector<std::string_view> other_mime_types;  // lower case
  std::vector<std::string_view> extensions;        // without the dot, lower case
  bool is_binary = false;                          // not text for a terminal
};

const std::vector<Format>& AllFormats();

// Finds a format by name, by MIME type (parameters such as "; charset=utf-8" are ignored), or by a file's name.
// INVALID_ARGUMENT lists the formats.
absl::StatusOr<const Format*> FormatNamed(std::string_view name);
absl::StatusOr<const Format*> FormatOfMimeType(std::string_view mime_type);
absl::StatusOr<const Format*> FormatOfFile(std::string_view file_name);

// The extensions of all formats, for an error message: "txt, text, md".
std::string KnownExtensions();

}  // namespace salient
