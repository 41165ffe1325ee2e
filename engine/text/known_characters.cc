#include "engine/text/known_characters.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <mutex>

namespace salient {
namespace {

constexpr size_t kCodePoints = 0x110000;

}  // namespace

KnownCharacters::KnownCharacters(const Tokenizers& tokenizers, int32_t unknown, std::string_view byte_characters)
    : source_(tokenizers.source), target_(tokenizers.target), unknown_(unknown), found_(kCodePoints) {
  for (int32_t at = 0, size = static_cast<int32_t>(byte_characters.size()); at < size;) {
    UChar32 c = 0;
    U8_NEXT(byte_characters.data(), at, size, c);
    if (c >= 0) found_[c] = kAsked | kReads | kWrites;
  }
}

uint8_t KnownCharacters::Find(std::string_view character) const {
  int32_t end = 0;
  UChar32 base = 0;
  U8_NEXT(character.data(), end, static_cast<int32_t>(character.size()), base);
  if (base < 0) return kAsked;
  uint8_t found = found_[base].load(std::memory_order_relaxed);
  if (found == 0) {
    found = Ask(character.substr(0, end));
    found_[base].store(found, std::memory_order_relaxed);
  }
  // Marks make no character known whose base is not.
  const bool alone = static_cast<size_t>(end) == character.size();
  return alone || found == kAsked ? found : FindMarked(character);
}

uint8_t KnownCharacters::FindMarked(std::string_view character) const {
  {
    std::shared_lock lock(mutex_);
    if (const auto at = marked_.find(character); at != marked_.end()) return at->second;
  }
  const uint8_t found = Ask(character);
  std::lock_guard lock(mutex_);
  // Begun anew rather than closed, so that no text leaves the others without.
  if (marked_.size() >= kMostMarked) marked_.clear();
  marked_.emplace(character, found);
  return found;
}

uint8_t KnownCharacters::Ask(std::string_view character) const {
  uint8_t found = kAsked;
  if (Has(*source_, character)) found |= kReads;
  if (Has(*target_, character)) found |= kWrites;
  return found;
}

bool KnownCharacters::Has(const Tokenizer& tokenizer, std::string_view character) const {
  const std::vector<int32_t> tokens = tokenizer.Encode(character);
  return std::none_of(tokens.begin(), tokens.end(),
                      [&](int32_t token) { return token == unknown_ || ByteOf(tokenizer.Piece(token)).has_value(); });
}

}  // namespace salient
