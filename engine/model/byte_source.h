// Bytes that are read part by part: of a file, or of memory. So what a file says of itself is checked before there is
// memory for the rest.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace salient {

inline constexpr int64_t kMostFileBytes = int64_t{64} << 30;

// Immutable; thread safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  virtual int64_t size() const = 0;
  // Copies bytes [at, at + count), which lie within the size. DATA_LOSS if they cannot be read.
  virtual absl::Status Read(int64_t at, int64_t count, char* to) const = 0;

  absl::StatusOr<std::string> ReadAll() const;
};

// Of bytes that outlive it.
std::unique_ptr<ByteSource> OpenMemory(std::string_view bytes);

// Of a file. It is read, not mapped: if another process truncated a mapped file, this process would crash. NOT_FOUND if
// there is no such file; INVALID_ARGUMENT if it is not a regular file, or has more than kMostFileBytes.
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileBytes(const std::string& path);

}  // namespace salient
