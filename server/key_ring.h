// The API keys of a file, kept up to date with it. Keys are kept as SHA-256 digests and compared in constant time.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace salient {

class KeyRing {
 public:
  // A key shorter than this could be drafted.
  static constexpr size_t kShortestKey = 16;

  // INVALID_ARGUMENT: the file cannot be read, has no key, or has one that is too short, whose line it tells.
  static absl::StatusOr<std::unique_ptr<KeyRing>> Open(const std::string& path);

  bool Holds(std::string_view key);

 private:
  using Digest = std::array<uint8_t, 32>;

  explicit KeyRing(const std::string& path) : path_(path) {}
  static Digest DigestOf(std::string_view key);
  static absl::StatusOr<std::vector<Digest>> Read(const std::string& path);
  void LookAgain();

  const std::string path_;
  std::mutex mutex_;
  std::vector<Digest> keys_;
  std::filesystem::file_time_type changed_;
  absl::Time looked_ = absl::InfinitePast();
};

}  // namespace salient
