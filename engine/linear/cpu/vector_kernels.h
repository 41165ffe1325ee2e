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
// of a panel covers, and accumulators + word * line.

struct F32Product {
  using Sums = Floats;
  using Outputs = FloatOutputs;
  static constexpr int kWords = 1;
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
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int half) {
    float x;
    __builtin_memcpy(&x, word, sizeof(x));
    const Ints widened = half == 0 ? line << 16 : line & static_cast<int32_t>(0xffff0000);
    return Fma(Broadcast(x), AsFloats(widened), sums);
  }
};

struct Int8Product {
  using Sums = Ints;
#if defined(__AVX512VNNI__)
  static constexpr int kWords = 1;
  static constexpr int kInputOffset = 128;  // vpdpbusd takes unsigned inputs
  using Inputs = AsBytes<INT8_MIN>;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int) {
    int32_t x;
    __builtin_memcpy(&x, word, sizeof(x));
    return (Ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)Broadcast(x), (__m512i)line);
  }
#elif defined(__AVX2__)
  // Inputs are 16 bits wide (AsShorts), and weights are widened here: bytes 0 and 2 of each four, then 1 and 3.
  // vpmaddubsw would multiply bytes, but it needs the sign moved from one side to the other at each product.
  static constexpr int kWords = 2;
  static constexpr int kInputOffset = 0;
  using Inputs = AsShorts;
  static Sums Add(Sums sums, const uint8_t* word, Ints line, int half) {
    int32_t pair;
    __builtin_memcpy(&pair, word, sizeof(pair));
    const __m256i high = half == 0 ? _mm256_slli_epi16((__m256i)line, 8) : (__m256i)line;
    sums += (Ints)_mm256_madd_epi16((__m256i)Broadcast(pair), _mm256_srai_epi16(high, 8));
    asm("" : "+x"(sums));  // GCC would add the products of both halves first, and spill the sums
    return sums;
  }
#else
  static constexpr int kWords = 1;
  static constexpr int kInputOffset = 0;
  using Inputs = AsBytes<0>;
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
    // Sums of six rows, their weights and an input fill the registers. A block has 16 rows: six, six and four.
    while (job.last_row - row >= 4) {
      if (job.last_row - row >= 6 && row % kBlockRows + 6 <= kBlockRows) {
        MultiplyPanels<Product, 6, 1>(job, row, panel, panels);
        row += 6;
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
    {Int8Product::Inputs::kChunkInputs, PrepareInt8<Int8Product::Inputs>, Multiply<Int8Product>},
};

}  // namespace
}  // namespace salient::linear_internal
