// Matrix products on vectors, written once. One file for each instruction set includes it and is compiled for that set.
//
// A tile of R rows by P panels is kept in registers while one pass over K reads each weight and each input once.

#pragma once

#include "engine/linear/cpu/epilogue.h"
#include "engine/linear/cpu/kernels.h"
#include "engine/linear/cpu/prepare.h"
#include "engine/linear/cpu/simd.h"

namespace salient::linear_internal {
namespace {

// What an element type needs: its accumulators, what makes results of them, how many 4-byte words of a chunk one line
// of a panel covers, how many rows by one panel fill the 16 registers of AVX2, and accumulators + word * line. A block
// has 16 rows: with six in a tile, these are six, six and four.

struct F32Product {
  using Sums = Floats;
  using Outputs = FloatOutputs;
  static constexpr int kWords = 1;
  static constexpr int kAvx2Rows = 6;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int) {
    float x;
    __builtin_memcpy(&x, word, sizeof(x));
    return Fma(Broadcast(x), AsFloats(line), sums);
  }
};

// bf16 weights widened to fp32, inputs already rounded to bf16: products are exact, sums are fp32.
struct Bf16Product {
  using Sums = Floats;
  using Outputs = FloatOutputs;
  static constexpr int kWords = 2;
  static constexpr int kAvx2Rows = 6;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int half) {
    float x;
    __builtin_memcpy(&x, word, sizeof(x));
    const Ints widened = half == 0 ? line << 16 : line & static_cast<int32_t>(0xffff0000);
    return Fma(Broadcast(x), AsFloats(widened), sums);
  }
};

struct Int8Product {
  using Sums = Ints;
  static constexpr int kWords = 1;
  static constexpr int kAvx2Rows = 4;  // and the signs
#if defined(__AVX512VNNI__)
  static constexpr int kInputOffset = 128;  // vpdpbusd takes unsigned inputs
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int) {
    int32_t x;
    __builtin_memcpy(&x, word, sizeof(x));
    return (Ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)Broadcast(x), (__m512i)line);
  }
#elif defined(__AVX2__)
  // vpmaddubsw adds two products in 16 bits with saturation. It is exact here because both sides are within +-127:
  // with the sign moved from the input to the weight, 2 * 127 * 127 = 32258 fits. Inputs plus 128 would not.
  static constexpr int kInputOffset = 0;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int) {
    int32_t bits;
    __builtin_memcpy(&bits, word, sizeof(bits));
    const auto x = (__m256i)Broadcast(bits);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8((__m256i)line, x));
    return sums + (Ints)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
#else
  static constexpr int kInputOffset = 0;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int) {
    int32_t x;
    __builtin_memcpy(&x, word, sizeof(x));
#pragma GCC unroll 4
    for (int byte = 0; byte < 4; ++byte) {
      const int shift = 24 - 8 * byte;
      sums += ((x << shift) >> 24) * ((line << shift) >> 24);
    }
    return sums;
  }
#endif
  using Outputs = Int8Outputs<kInputOffset>;
};

// Sums of R rows from `row` on and P panels from `panel` on.
template <class Product, int R, int P>
inline void MultiplyTile(const Multiplication& job, int32_t row, int32_t panel) {
  constexpr int kVectors = P * kPanelVectors;
  const PackedWeights& weights = *job.weights;
  const size_t panel_bytes = weights.panel_bytes;
  const uint8_t* x = job.blocks + (static_cast<size_t>(row / kBlockRows) * job.chunks * kBlockRows +
                                   static_cast<size_t>(row % kBlockRows)) *
                                      kChunkBytes;
  const uint8_t* w = weights.data + panel * panel_bytes;
  const size_t chunk_stride = static_cast<size_t>(job.height) * kChunkBytes;

  typename Product::Sums sums[R][kVectors] = {};
  for (int32_t chunk = 0; chunk < job.chunks; ++chunk, x += chunk_stride) {
    for (int word = 0; word < kChunkBytes; word += 4 * Product::kWords, w += 64) {
#pragma GCC unroll 2
      for (int part = 0; part < Product::kWords; ++part) {
        Ints lines[kVectors];
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          lines[v] = Load<Ints>(w + v / kPanelVectors * panel_bytes + v % kPanelVectors * sizeof(Ints));
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) {
            sums[r][v] = Product::Add(sums[r][v], x + r * kChunkBytes + word + 4 * part, lines[v], part);
          }
        }
      }
    }
  }

  using Sum = typename Product::Outputs::Sum;
  Sum values[R * P * kPanelOutputs];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) Store(values + r * P * kPanelOutputs + v * kLanes, sums[r][v]);
  }
  Finish<P, typename Product::Outputs>(job, Accumulators<Sum>{values, P * kPanelOutputs, kPanelOutputs, row, R, panel});
}

// The panels of R rows from `row` on.
template <class Product, int R, int P>
inline void MultiplyPanels(const Multiplication& job, int32_t row, int32_t panel, int32_t panels) {
  int32_t p = 0;
  for (; p + P <= panels; p += P) MultiplyTile<Product, R, P>(job, row, panel + p);
  if constexpr (P > 2) {
    for (; p < panels; p += 2) MultiplyTile<Product, R, 2>(job, row, panel + p);
  }
}

template <class Product, int R, int P>
inline void MultiplyRows(const Multiplication& job, int32_t& row, int32_t panel, int32_t panels) {
  for (; job.last_row - row >= R; row += R) MultiplyPanels<Product, R, P>(job, row, panel, panels);
}

template <class Product>
void Multiply(const Multiplication& job) {
  constexpr int32_t kGroup = 4;  // panels that stay in the cache while all rows pass
  for (int32_t panel = job.first_panel; panel < job.last_panel; panel += kGroup) {
    const int32_t left = job.last_panel - panel;
    const int32_t panels = left < kGroup ? left : kGroup;
    int32_t row = job.first_row;
#if defined(__AVX512F__)
    MultiplyRows<Product, 8, 2>(job, row, panel, panels);
    MultiplyRows<Product, 4, 4>(job, row, panel, panels);
    MultiplyRows<Product, 2, 4>(job, row, panel, panels);
#elif defined(__AVX2__)
    constexpr int kMost = Product::kAvx2Rows;
    while (job.last_row - row >= 4) {
      if (job.last_row - row >= kMost && row % kBlockRows + kMost <= kBlockRows) {
        MultiplyPanels<Product, kMost, 1>(job, row, panel, panels);
        row += kMost;
      } else {
        MultiplyPanels<Product, 4, 1>(job, row, panel, panels);
        row += 4;
      }
    }
    MultiplyRows<Product, 2, 2>(job, row, panel, panels);
#else
    MultiplyRows<Product, 2, 1>(job, row, panel, panels);
#endif
    MultiplyRows<Product, 1, kLanes == 4 ? 1 : 4>(job, row, panel, panels);
  }
}

constexpr Kernels kVectorKernels = {
    {16, PrepareF32, Multiply<F32Product>},
    {16, PrepareRounded, Multiply<Bf16Product>},
    {64, PrepareInt8<Int8Product::kInputOffset == 0 ? 0 : INT8_MIN>, Multiply<Int8Product>},
};

}  // namespace
}  // namespace salient::linear_internal
