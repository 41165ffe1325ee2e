#include "server/models/folder_print.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/files.h"
#include "openssl/evp.h"

namespace salient {
namespace {

absl::Status Unreadable(const std::string& path, const std::string& why) {
  return absl::UnavailableError(absl::StrCat(path, ": cannot be read: ", why));
}

// The regular files right in the folder, sorted; a model has none further down.
absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder) {
  absl::StatusOr<std::vector<std::string>> names = NamesIn(folder);
  if (!names.ok()) return absl::UnavailableError(names.status().message());
  std::erase_if(*names, [&](const std::string& name) {
    std::error_code gone;
    return !std::filesystem::is_regular_file(absl::StrCat(folder, "/", name), gone);
  });
  return names;
}

}  // namespace

absl::StatusOr<std::string> FolderStamp(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = FilesIn(folder);
  if (!names.ok()) return names.status();
  std::string stamp;
  for (const std::string& name : *names) {
    struct stat found = {};
    if (stat(absl::StrCat(folder, "/", name).c_str(), &found) != 0) return Unreadable(folder, std::strerror(errno));
    absl::StrAppend(&stamp, name.size(), ":", name, " ", found.st_size, " ", found.st_mtim.tv_sec, ".",
                    found.st_mtim.tv_nsec, " ", found.st_dev, " ", found.st_ino, "\n");
  }
  return stamp;
}

absl::StatusOr<std::string> FolderDigest(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = FilesIn(folder);
  if (!names.ok()) return names.status();
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> all(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  EVP_DigestInit_ex(all.get(), EVP_sha256(), nullptr);
  std::vector<char> block(1 << 20);
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(folder, "/", name);
    std::ifstream file(path, std::ios::binary);
    uint64_t size = 0;
    const std::string head = absl::StrCat(name.size(), ":", name, " ");
    EVP_DigestUpdate(all.get(), head.data(), head.size());
    while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
      EVP_DigestUpdate(all.get(), block.data(), static_cast<size_t>(file.gcount()));
      size += static_cast<uint64_t>(file.gcount());
    }
    if (!file.eof()) return Unreadable(path, "an error of the file system");
    EVP_DigestUpdate(all.get(), &size, sizeof(size));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_DigestFinal_ex(all.get(), digest, &length);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest), length});
}

}  // namespace salient
