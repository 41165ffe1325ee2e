#include "server/key_ring.h"

#include <fstream>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "openssl/crypto.h"
#include "openssl/sha.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);

std::filesystem::file_time_type ChangeOf(const std::string& path) {
  std::error_code error;  // a file that is gone reads as changed, and then as unreadable
  return std::filesystem::last_write_time(path, error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeyRing>> KeyRing::Open(const std::string& path) {
  std::unique_ptr<KeyRing> ring(new KeyRing(path));
  ring->changed_ = ChangeOf(path);
  auto keys = Read(path);
  if (!keys.ok()) return keys.status();
  ring->keys_ = *std::move(keys);
  return ring;
}

KeyRing::Digest KeyRing::DigestOf(std::string_view key) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

absl::StatusOr<std::vector<KeyRing::Digest>> KeyRing::Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::InvalidArgumentError(absl::StrCat("--api-keys: cannot read ", path));
  std::vector<Digest> keys;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const absl::string_view key = absl::StripAsciiWhitespace(line);
    if (key.empty() || key[0] == '#') continue;
    if (key.size() < kShortestKey) {
      return absl::InvalidArgumentError(absl::StrCat("--api-keys: ", path, ", line ", number, ": the key has ",
                                                     key.size(), " characters; it needs ", kShortestKey,
                                                     " at least, such as `openssl rand -hex 24` makes"));
    }
    keys.push_back(DigestOf({key.data(), key.size()}));
  }
  if (keys.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--api-keys: ", path, " holds no key; write one a line"));
  }
  return keys;
}

void KeyRing::LookAgain() {
  const absl::Time now = absl::Now();
  if (now - looked_ < kLookEvery) return;
  looked_ = now;
  const auto changed = ChangeOf(path_);
  if (changed == changed_) return;
  changed_ = changed;
  auto keys = Read(path_);
  if (keys.ok()) {
    keys_ = *std::move(keys);
    spdlog::info("{} has changed: {} API keys", path_, keys_.size());
  } else {
    spdlog::warn("{}; the keys stay as they were", std::string(keys.status().message()));
  }
}

bool KeyRing::Holds(std::string_view key) {
  const Digest digest = DigestOf(key);
  std::lock_guard lock(mutex_);
  LookAgain();
  bool held = false;
  for (const Digest& one : keys_) held |= CRYPTO_memcmp(one.data(), digest.data(), digest.size()) == 0;
  return held;
}

}  // namespace salient
