#include "engine/text/known_characters.h"

#include <unicode/utf8.h>

#include <algorithm>

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

uint8_t KnownCharacters::Of(std::string_view character) const {
  int32_t end = 0;
  UChar32 base = 0;
  U8_NEXT(character.data(), end, static_cast<int32_t>(character.size()), base);
  const bool alone = static_cast<size_t>(end) == character.size();
  if (base < 0) return kAsked;
  // Marks make no character known whose base is not.
  if (!alone && Of(character.substr(0, end)) == kAsked) return kAsked;
  if (const uint8_t found = found_[base].load(std::memory_order_relaxed); alone && found != 0) return found;
  uint8_t of = kAsked;
  if (Has(*source_, character)) of |= kReads;
  if (Has(*target_, character)) of |= kWrites;
  if (alone) found_[base].store(of, std::memory_order_relaxed);
  return of;
}

bool KnownCharacters::Has(const Tokenizer& tokenizer, std::string_view character) const {
  const std::vector<int32_t> tokens = tokenizer.Encode(character);
  return std::none_of(tokens.begin(), tokens.end(),
                      [&](int32_t token) { return token == unknown_ || ByteOf(tokenizer.Piece(token)).has_value(); });
}

}  // namespace salient
