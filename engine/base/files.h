// Whole files, and the names in a folder. C's functions, not C++'s streams: where a read fails, a stream says nothing
// or throws.

#pragma once

#include <cstddef>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OpenFile = std::unique_ptr<std::FILE, CloseFile>;

// The bytes of a file. The message says what is wrong with it, without its name: "cannot be read: REASON", NOT_FOUND
// only if there is no such file; INVALID_ARGUMENT "is a folder" or "has more than MOST bytes"; DATA_LOSS if it breaks
// off.
absl::StatusOr<std::string> ReadBytes(const std::string& path, size_t most = std::numeric_limits<size_t>::max());

// The same, with the file's name before the message.
absl::StatusOr<std::string> ReadNamed(const std::string& path, size_t most = std::numeric_limits<size_t>::max());

// As ReadNamed, and INVALID_ARGUMENT "NAME is no regular file" for a pipe or a device. For folders that are not
// trusted, such as a model's: who opens a pipe waits for its writer.
absl::StatusOr<std::string> ReadRegular(const std::string& path, size_t most = std::numeric_limits<size_t>::max());

// As ReadBytes, of an open file, from where it is.
absl::StatusOr<std::string> ReadToEnd(std::FILE* file, size_t most = std::numeric_limits<size_t>::max());

// The names of all that is right in a folder, sorted, without . and .. NOT_FOUND "FOLDER cannot be listed: REASON",
// also where the file system fails midway.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

}  // namespace salient
