// Number formats: what keys and values are stored as, and what products are computed in.

#pragma once

namespace salient {

// kInt8: with a scale for each head of each position's K, and of its V.
enum class ElementType { kF32, kBF16, kInt8 };

constexpr int ElementBytes(ElementType type) {
  return type == ElementType::kF32 ? 4 : type == ElementType::kBF16 ? 2 : 1;
}

// What the products of linear layers are computed in. kAuto: int8 with AMX or VNNI, else fp32.
enum class ComputeType { kAuto, kF32, kBF16, kInt8 };

}  // namespace salient
