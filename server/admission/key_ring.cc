#include "server/admission/key_ring.h"

#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "engine/base/files.h"
#include "openssl/crypto.h"
#include "openssl/sha.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

constexpr size_t kMostBytes = 16 << 20;
constexpr absl::Duration kLookEvery = absl::Seconds(1);

KeyRing::FileState StateOf(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {};  // which reads as changed, and then as unreadable
  return {static_cast<int64_t>(found.st_dev), static_cast<int64_t>(found.st_ino), found.st_ctim.tv_sec,
          found.st_ctim.tv_nsec};
}

std::string NameOf(const KeyRing::Digest& digest) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), 4));
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

// "documents=4" into a client; false where it is none of the words there are.
bool ReadWord(absl::string_view word, Client& client) {
  const auto value_of = [word](absl::string_view name) -> std::optional<absl::string_view> {
    if (!absl::StartsWith(word, name) || word.size() <= name.size() || word[name.size()] != '=') return std::nullopt;
    return word.substr(name.size() + 1);
  };
  ClientLimits& limits = client.limits;
  if (const auto name = value_of("name")) {
    client.name = std::string(*name);
    return IsName(*name);
  }
  if (const auto weight = value_of("weight")) {
    return absl::SimpleAtod(*weight, &limits.weight) && limits.weight >= 0.01 && limits.weight <= 100;
  }
  if (const auto tokens = value_of("tokens-per-minute")) {
    return absl::SimpleAtoi(*tokens, &limits.tokens_per_minute) && limits.tokens_per_minute > 0;
  }
  if (const auto documents = value_of("documents")) {
    return absl::SimpleAtoi(*documents, &limits.documents) && limits.documents > 0;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeyRing>> KeyRing::Open(const std::string& path) {
  std::unique_ptr<KeyRing> ring(new KeyRing(path));
  ring->state_ = StateOf(path);
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

absl::StatusOr<KeyRing::Keys> KeyRing::Read(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadBytes(path, kMostBytes);
  if (!text.ok()) return absl::InvalidArgumentError(absl::StrCat("--api-keys: ", path, " ", text.status().message()));
  return Parse(*text, path);
}

absl::StatusOr<KeyRing::Keys> KeyRing::Parse(std::string_view text, const std::string& path) {
  Keys keys;
  int number = 0;
  for (const absl::string_view whole : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view line = whole.substr(0, whole.find('#'));
    const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t\r\v\f"), absl::SkipEmpty());
    if (words.empty()) continue;
    const auto wrong = [&](const auto&... what) {
      return absl::InvalidArgumentError(absl::StrCat("--api-keys: ", path, ", line ", number, ": ", what...));
    };
    if (words[0].size() < kShortestKey) {
      return wrong("the key has ", words[0].size(), " characters; it needs ", kShortestKey,
                   " at least, such as `openssl rand -hex 24` makes");
    }
    const Digest digest = DigestOf({words[0].data(), words[0].size()});
    Client client{Client::Kind::kKey, NameOf(digest), {}};
    for (size_t i = 1; i < words.size(); ++i) {
      if (!ReadWord(words[i], client)) {
        return wrong("'", words[i],
                     "' is none of name=NAME (letters, digits, . _ -), weight=W (0.01 to 100), "
                     "tokens-per-minute=N and documents=N (1 or more)");
      }
    }
    for (const auto& [other, named] : keys) {
      if (other == digest) return wrong("the key stands in the file twice");
      if (named.name == client.name && !(named.limits == client.limits)) {
        return wrong("other limits than in the line before of the name '", client.name, "'; say the same in each");
      }
    }
    keys.emplace_back(digest, std::move(client));
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
  const FileState state = StateOf(path_);
  if (state == state_) return;
  auto keys = Read(path_);
  const absl::Status before = std::exchange(complaint_, keys.status());
  if (keys.ok()) {
    state_ = state;
    keys_ = *std::move(keys);
    spdlog::info("{} has changed: {} API keys", path_, keys_.size());
  } else if (complaint_ != before) {
    spdlog::warn("{}; the keys stay as they were", std::string(complaint_.message()));
  }
}

std::optional<Client> KeyRing::Find(std::string_view key) {
  const Digest digest = DigestOf(key);
  std::lock_guard lock(mutex_);
  LookAgain();
  const Client* held = nullptr;
  for (const auto& [one, client] : keys_) {
    if (CRYPTO_memcmp(one.data(), digest.data(), digest.size()) == 0) held = &client;
  }
  return held == nullptr ? std::nullopt : std::optional<Client>(*held);
}

}  // namespace salient
