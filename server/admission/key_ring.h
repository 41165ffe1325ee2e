// The API keys of a file, which is read again when it changes. Keys are stored as SHA-256 digests and compared in
// constant time. Each line of the file is:
//
//   KEY [name=NAME] [weight=W] [tokens-per-minute=N] [documents=N]      # comment
//
// A name has letters, digits, '.', '_' and '-'. Keys of the same name belong to one client and must have the same
// limits; so a new key can be issued before the old one is removed. A key without a name is a client of its own, named
// by the first digits of its digest.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission/client.h"

namespace salient {

class KeyRing {
 public:
  // A shorter key could be guessed.
  static constexpr size_t kShortestKey = 16;

  // INVALID_ARGUMENT if the file cannot be read, has no key, or has an invalid line; names the line.
  static absl::StatusOr<std::unique_ptr<KeyRing>> Open(const std::string& path);

  // The client of a key; none if the key is unknown.
  std::optional<Client> Find(std::string_view key);

  using Digest = std::array<uint8_t, 32>;
  using Keys = std::vector<std::pair<Digest, Client>>;
  // Parses the text of a file; `path` is for messages.
  static absl::StatusOr<Keys> Parse(std::string_view text, const std::string& path);

  // Device, inode, and time of the last change of content or attributes. Unlike the time of modification, which copies
  // keep, it tells two files apart.
  using FileState = std::array<int64_t, 4>;

 private:
  explicit KeyRing(const std::string& path) : path_(path) {}
  static Digest DigestOf(std::string_view key);
  static absl::StatusOr<Keys> Read(const std::string& path);
  void LookAgain();

  const std::string path_;
  std::mutex mutex_;
  Keys keys_;
  FileState state_ = {};    // of the file that keys_ are from; a bad one is read again
  absl::Status complaint_;  // of the last reading, which the log has
  absl::Time looked_ = absl::InfinitePast();
};

}  // namespace salient
