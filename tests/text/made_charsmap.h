// Builds a map of replacements unit by unit, valid or invalid.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace salient {

// A double array in which every state has a block of 256 units to itself: the child by byte b of state s is at
// 256 s + b, and a state's value at 256 s.
struct MadeCharsmap {
  static constexpr uint32_t kUnused = 0x80000000;  // matches no byte
  static constexpr uint32_t kRoot = 1;             // offset 0, and a label that does not lead back to it

  std::vector<uint32_t> units;

  MadeCharsmap() : units(256, kUnused) { units[0] = kRoot; }

  // Replaces `key`, which has no NUL, by the replacement at `offset`.
  MadeCharsmap& Add(std::string_view key, uint32_t offset) {
    uint32_t state = 0, unit = 0;
    for (const char c : key) {
      const auto byte = static_cast<unsigned char>(c);
      unit = 256 * state + byte;
      if (units[unit] == kUnused) {
        const auto child = static_cast<uint32_t>(units.size() / 256);
        units.resize(units.size() + 256, kUnused);
        units[unit] = byte | (unit ^ 256 * child) << 10;
      }
      state = (unit ^ (units[unit] & 0x7FFFFFFF) >> 10) / 256;
    }
    units[unit] |= 1 << 8;  // has a value
    units[256 * state] = 0x80000000 | offset;
    return *this;
  }

  std::string Bytes(std::string_view replacements) const {
    std::string bytes;
    const auto put = [&bytes](uint32_t number) {
      for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
    };
    put(static_cast<uint32_t>(4 * units.size()));
    for (const uint32_t unit : units) put(unit);
    return bytes.append(replacements);
  }
};

}  // namespace salient
