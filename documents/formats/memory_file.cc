#include "documents/formats/memory_file.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace salient {

absl::StatusOr<std::string_view> MemoryMimeTypeOfFile(std::string_view file_name) {
  if (file_name.ends_with(".tmx")) return kTmxMimeType;
  if (file_name.ends_with(".po")) return kPoMimeType;
  if (file_name.ends_with(".tsv")) return kTsvMimeType;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(file_name), " is none of .tmx, .po and .tsv; rename it to what it is"));
}

}  // namespace salient
