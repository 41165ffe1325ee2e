// bfloat16, the upper half of an fp32: of stored keys and values, and of weights.

#pragma once

#include <bit>
#include <cstdint>

namespace salient {

inline float BF16ToFloat(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

// Rounds to nearest, ties to even. A NaN stays a NaN (rounding its payload could turn it into another value).
inline uint16_t FloatToBF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace salient
