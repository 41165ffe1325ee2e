// Which characters a model can read and write: those that its vocabularies have pieces for, and those that it has
// learned in bytes.
//
// A character here is a base character with the marks that follow it. Immutable as far as its users see, and thread
// safe: answers are kept, of all characters without marks and of some with marks, for a tokenizer is slow to ask.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace salient {

class KnownCharacters {
 public:
  static constexpr size_t kMostMarked = 4096;  // characters with marks whose answers are kept

  // `unknown`: the unknown token. `byte_characters`: UTF-8, characters that both sides know although they have no
  // piece.
  KnownCharacters(const Tokenizers& tokenizers, int32_t unknown, std::string_view byte_characters);

  bool Reads(std::string_view character) const { return Of(character).reads; }
  bool Writes(std::string_view character) const { return Of(character).writes; }

  struct Sides {
    bool reads = false;   // in the source
    bool writes = false;  // in the target
  };
  Sides Of(std::string_view character) const {
    const uint8_t found = Find(character);
    return {(found & kReads) != 0, (found & kWrites) != 0};
  }

 private:
  static constexpr uint8_t kAsked = 1, kReads = 2, kWrites = 4;

  uint8_t Find(std::string_view character) const;
  uint8_t FindMarked(std::string_view character) const;
  uint8_t Ask(std::string_view character) const;
  bool Has(const Tokenizer& tokenizer, std::string_view character) const;

  const std::shared_ptr<const Tokenizer> source_, target_;
  const int32_t unknown_;
  mutable std::vector<std::atomic<uint8_t>> found_;  // by code point: of characters without marks; 0: not asked yet
  mutable std::shared_mutex mutex_;
  mutable std::map<std::string, uint8_t, std::less<>> marked_;  // of characters with marks
};

}  // namespace salient
