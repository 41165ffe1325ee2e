// A tokenizer without a model: a token for each of some characters, and the bytes of all others.

#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/special_tokens.h"
#include "engine/text/tokenizer.h"

namespace salient {

class Letters : public Tokenizer {
 public:
  static constexpr char kAscii[] = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'\"-()/+=";
  static constexpr SpecialTokens kSpecial{.first_marker = 261, .markers = 32};

  // `known`: UTF-8, without marks.
  explicit Letters(std::string_view known) {
    for (; !known.empty(); known.remove_prefix(characters_.back().size())) {
      characters_.emplace_back(known.substr(0, SizeOfFirst(known)));
    }
  }

  std::vector<int32_t> Encode(std::string_view text) const override {
    std::vector<int32_t> tokens;
    while (!text.empty()) {
      const std::string_view character = text.substr(0, SizeOfFirst(text));
      const auto found = std::find(characters_.begin(), characters_.end(), character);
      if (found != characters_.end()) {
        tokens.push_back(kFirst + static_cast<int32_t>(found - characters_.begin()));
      } else {
        for (const unsigned char byte : character) tokens.push_back(kBytes + byte);
      }
      text.remove_prefix(character.size());
    }
    return tokens;
  }
  std::string Decode(const std::vector<int32_t>&) const override { return ""; }
  bool IsWritten(int32_t) const override { return true; }
  std::string Piece(int32_t token) const override {
    if (token >= kFirst) return characters_[token - kFirst];
    if (token >= kSpecial.first_marker) return "\u27e6" + std::to_string(token - kSpecial.first_marker) + "\u27e7";
    static constexpr char kDigits[] = "0123456789ABCDEF";
    const int byte = token - kBytes;
    return std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">";
  }

 private:
  static constexpr int32_t kBytes = 5, kFirst = kSpecial.first_marker + kSpecial.markers;

  static size_t SizeOfFirst(std::string_view text) {
    size_t size = 1;
    while (size < text.size() && (text[size] & 0xC0) == 0x80) ++size;
    return size;
  }

  std::vector<std::string> characters_;
};

// Counts how often it is asked.
class CountedLetters : public Letters {
 public:
  CountedLetters() : Letters(kAscii) {}
  std::vector<int32_t> Encode(std::string_view text) const override {
    ++asked;
    return Letters::Encode(text);
  }

  mutable std::atomic<int> asked = 0;
};

}  // namespace salient
