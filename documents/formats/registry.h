// The known formats, and finding the format of a document. Names only, which is all that a client needs; parsers.h has
// the parsers.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

// One type of a format's files.
struct FileType {
  std::string_view mime_type;
  std::vector<std::string_view> extensions;  // without the dot, lower case; empty if this is another name of a type
};

struct Format {
  std::string_view name;        // the value of `--format`: "markdown"
  std::vector<FileType> types;  // the first is the one that stands for the format
  bool is_binary = false;       // not text for a terminal
};

// The format of a document, and which of the format's types it has. A reply names the same type.
struct DocumentType {
  const Format* format;
  std::string_view mime_type;
};

const std::vector<Format>& AllFormats();

// Finds a format by its name, and a type by its MIME type (in any case; parameters such as "; charset=utf-8" are
// ignored) or by a file's name. INVALID_ARGUMENT lists the formats.
absl::StatusOr<const Format*> FormatNamed(std::string_view name);
absl::StatusOr<DocumentType> TypeNamed(std::string_view mime_type);
absl::StatusOr<DocumentType> TypeOfFile(std::string_view file_name);

// The extensions of all formats, without dots.
std::vector<std::string> AllExtensions();

}  // namespace salient
