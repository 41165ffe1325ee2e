// Number formats of stored keys and values, and of matrix products.

#pragma once

namespace salient {

// kInt8 has a scale for each head of the K and of the V of each position.
enum class ElementType { kF32, kBF16, kInt8 };

constexpr int ElementBytes(ElementType type) {
  return type == ElementType::kF32 ? 4 : type == ElementType::kBF16 ? 2 : 1;
}

// The number format of the products of linear layers. kAuto: int8 from AVX2 on, otherwise fp32.
enum class ComputeType { kAuto, kF32, kBF16, kInt8 };

}  // namespace salient
