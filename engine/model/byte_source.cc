#include "engine/model/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace salient {
namespace {

class Memory : public ByteSource {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}

  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  absl::Status Read(int64_t at, int64_t count, char* to) const override {
    if (count > 0) std::memcpy(to, bytes_.data() + at, count);
    return absl::OkStatus();
  }

 private:
  const std::string_view bytes_;
};

class File : public ByteSource {
 public:
  // Owns the descriptor.
  File(int descriptor, int64_t size, std::string path) : descriptor_(descriptor), size_(size), path_(std::move(path)) {}
  ~File() override { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int64_t size() const override { return size_; }
  absl::Status Read(int64_t at, int64_t count, char* to) const override {
    while (count > 0) {
      const ssize_t got = pread(descriptor_, to, count, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return absl::DataLossError(absl::StrCat(path_, ": ", std::strerror(errno)));
      if (got == 0) return absl::DataLossError(absl::StrCat(path_, " became shorter while it was read"));
      at += got;
      to += got;
      count -= got;
    }
    return absl::OkStatus();
  }

 private:
  const int descriptor_;
  const int64_t size_;
  const std::string path_;
};

}  // namespace

absl::StatusOr<std::string> ByteSource::ReadAll() const {
  std::string bytes(size(), '\0');
  if (absl::Status read = Read(0, size(), bytes.data()); !read.ok()) return read;
  return bytes;
}

std::unique_ptr<ByteSource> OpenMemory(std::string_view bytes) { return std::make_unique<Memory>(bytes); }

absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileBytes(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, path);
  struct stat facts = {};
  const bool known = fstat(descriptor, &facts) == 0;
  auto file = std::make_unique<File>(descriptor, facts.st_size, path);
  if (!known || !S_ISREG(facts.st_mode) || facts.st_size > kMostFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a regular file of at most ", kMostFileBytes, " bytes"));
  }
  return file;
}

}  // namespace salient
