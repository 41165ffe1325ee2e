#include "engine/base/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace salient {

absl::StatusOr<std::string> ReadBytes(const std::string& path, size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return absl::InvalidArgumentError("is a folder");
  const OpenFile file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return absl::ErrnoToStatus(errno, "cannot be read");
  return ReadToEnd(file.get(), most);
}

absl::StatusOr<std::string> ReadNamed(const std::string& path, size_t most) {
  absl::StatusOr<std::string> bytes = ReadBytes(path, most);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(), absl::StrCat(path, " ", bytes.status().message()));
}

absl::StatusOr<std::string> ReadRegular(const std::string& path, size_t most) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::is_other(status)) return absl::InvalidArgumentError(absl::StrCat(path, " is no regular file"));
  return ReadNamed(path, most);
}

absl::StatusOr<std::string> ReadToEnd(std::FILE* file, size_t most) {
  std::string bytes;
  std::array<char, 1 << 16> block;
  size_t count = 0;
  do {
    count = std::fread(block.data(), 1, block.size(), file);
    if (std::ferror(file) != 0) {
      return absl::DataLossError(absl::StrCat("cannot be read to its end: ", std::strerror(errno)));
    }
    if (count > most - bytes.size()) return absl::InvalidArgumentError(absl::StrCat("has more than ", most, " bytes"));
    bytes.append(block.data(), count);
  } while (count == block.size());
  return bytes;
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  // Not a range-based loop, whose increment throws.
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, " cannot be listed: ", error.message()));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace salient
