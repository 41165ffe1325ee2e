// Documents from files, and translations to files.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace salient {

// The text of a file, of standard input for "-". Fails if it cannot be read, is empty or is not UTF-8, and says where.
absl::StatusOr<std::string> ReadDocument(const std::string& file);

// Where each file's translation goes: a path, or "" for standard output, which is where all go if `out` is empty. One
// document goes to the file `out`; several, or any if `out` is a folder or ends in "/", go there under their own names.
// Fails rather than let two translations share a path, or one overwrite a source. Makes the folder.
absl::StatusOr<std::vector<std::string>> PlanOutputs(const std::vector<std::string>& files, const std::string& out);

// Replaces the file as a whole: what was there stays if writing fails.
absl::Status WriteTranslation(const std::string& path, std::string_view text);

}  // namespace salient
