// Whether the files of a model's folder are still those that were read.

#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace salient {

// Names, sizes, times and inodes of the files in the folder, through links: quick to make. Two that are equal are of
// the same contents, unless somebody set the times of files.
absl::StatusOr<std::string> FolderStamp(const std::string& folder);

// SHA-256 of the names and contents of the files in the folder, in hexadecimal. It reads all of them.
absl::StatusOr<std::string> FolderDigest(const std::string& folder);

}  // namespace salient
