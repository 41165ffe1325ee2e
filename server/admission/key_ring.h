// The API keys of a file, kept up to date with it. Keys are kept as SHA-256 digests and compared in constant time.
//
//   KEY [name=NAME] [weight=W] [tokens-per-minute=N] [documents=N]      # comment
//
// One a line. A name is of letters, digits, '.', '_' and '-'; keys of one name are one client's, so that a new one can
// be handed out before the old one goes, and say the same limits. Without a name a key is its own client, called by the
// first digits of its digest.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission/client.h"

namespace salient {

class KeyRing {
 public:
  // A key shorter than this could be drafted.
  static constexpr size_t kShortestKey = 16;

  // INVALID_ARGUMENT: the file cannot be read, has no key, or has one that is too short, whose line it tells.
  static absl::StatusOr<std::unique_ptr<KeyRing>> Open(const std::string& path);

  // Whose key it is; none if it is nobody's.
  std::optional<Client> Find(std::string_view key);
  bool Holds(std::string_view key) { return Find(key).has_value(); }

  using Digest = std::array<uint8_t, 32>;
  using Keys = std::vector<std::pair<Digest, Client>>;
  // The keys of a file's text; `path` is for messages.
  static absl::StatusOr<Keys> Parse(std::string_view text, const std::string& path);

 private:
  explicit KeyRing(const std::string& path) : path_(path) {}
  static Digest DigestOf(std::string_view key);
  static absl::StatusOr<Keys> Read(const std::string& path);
  void LookAgain();

  const std::string path_;
  std::mutex mutex_;
  Keys keys_;
  std::filesystem::file_time_type changed_;
  absl::Time looked_ = absl::InfinitePast();
};

}  // namespace salient
