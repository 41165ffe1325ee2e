// Which characters a model can read and write: those that its vocabularies have pieces for, and those that it has
// learned in bytes.
//
// A character here is a base character with the marks that follow it. Immutable as far as its users see, and thread
// safe: answers are kept in atomics.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace salient {

class KnownCharacters {
 public:
  // `unknown`: the unknown token. `byte_characters`: UTF-8, characters that both sides know although they have no
  // piece.
  KnownCharacters(const Tokenizers& tokenizers, int32_t unknown, std::string_view byte_characters);

  bool Reads(std::string_view character) const { return (Of(character) & kReads) != 0; }    // in the source
  bool Writes(std::string_view character) const { return (Of(character) & kWrites) != 0; }  // in the target

 private:
  static constexpr uint8_t kAsked = 1, kReads = 2, kWrites = 4;

  uint8_t Of(std::string_view character) const;
  bool Has(const Tokenizer& tokenizer, std::string_view character) const;

  const std::shared_ptr<const Tokenizer> source_, target_;
  const int32_t unknown_;
  mutable std::vector<std::atomic<uint8_t>> found_;  // by code point: of characters without marks; 0: not asked yet
};

}  // namespace salient
