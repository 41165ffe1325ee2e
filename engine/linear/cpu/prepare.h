// Brings input rows into blocks of chunks (kernels.h): copied, rounded to bf16, or quantised a row at a time.

#pragma once

#include "engine/linear/cpu/kernels.h"
#include "engine/linear/cpu/simd.h"

namespace salient::linear_internal {
namespace {

// Where chunk 0 of a row is; the next one is height * 64 bytes on.
inline uint8_t* RowInBlocks(const Preparation& job, int32_t row) {
  const int32_t block = row / kBlockRows;
  return job.blocks + (static_cast<size_t>(block) * job.chunks * kBlockRows + row % kBlockRows) * kChunkBytes;
}

// Calls body(chunk, x) with x[0..kChunkInputs), zeros past the end of the row.
template <int kChunkInputs, class Body>
inline void ForEachChunk(const Preparation& job, int32_t row, const Body& body) {
  const float* x = job.input + static_cast<size_t>(row) * job.inputs;
  const int32_t whole = job.inputs / kChunkInputs;
  for (int32_t chunk = 0; chunk < whole; ++chunk) body(chunk, x + static_cast<size_t>(chunk) * kChunkInputs);
  if (whole * kChunkInputs == job.inputs) return;
  float padded[kChunkInputs] = {};
  for (int32_t i = whole * kChunkInputs; i < job.inputs; ++i) padded[i - whole * kChunkInputs] = x[i];
  body(whole, padded);
}

// The nearest bf16, ties to even, as the upper half of an fp32. A NaN is cut, not rounded, with its quiet bit set, so
// that it stays one.
inline Ints RoundToBf16(Floats x) {
  const Ints bits = AsInts(x);
  const Ints rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const Ints nan = bits | 0x400000;
  return (x != x ? nan : rounded) & static_cast<int32_t>(0xffff0000);
}

inline void PrepareF32(const Preparation& job) {
  for (int32_t row = job.first_row; row < job.last_row; ++row) {
    uint8_t* to = RowInBlocks(job, row);
    ForEachChunk<16>(job, row, [&](int32_t chunk, const float* x) {
      __builtin_memcpy(to + static_cast<size_t>(chunk) * job.height * kChunkBytes, x, kChunkBytes);
    });
    // bf16 weights come in pairs of chunks of these.
    const int32_t used = (job.inputs + 15) / 16;
    for (int32_t chunk = used; chunk < job.chunks; ++chunk) {
      __builtin_memset(to + static_cast<size_t>(chunk) * job.height * kChunkBytes, 0, kChunkBytes);
    }
  }
}

// Rounded to bf16 but kept as fp32, for machines without instructions for bf16.
inline void PrepareRounded(const Preparation& job) {
  PrepareF32(job);
  for (int32_t row = job.first_row; row < job.last_row; ++row) {
    uint8_t* to = RowInBlocks(job, row);
    for (int32_t chunk = 0; chunk < job.chunks; ++chunk, to += job.height * kChunkBytes) {
      for (int v = 0; v < kChunkBytes; v += sizeof(Floats)) Store(to + v, RoundToBf16(Load<Floats>(to + v)));
    }
  }
}

// The largest |x|'s bits: ordered as the numbers are, and above 0x7f7fffff if one is not finite.
inline int32_t LargestMagnitude(const Preparation& job, int32_t row) {
  Ints largest = {};
  ForEachChunk<64>(job, row, [&](int32_t, const float* x) {
#pragma GCC unroll 16
    for (int i = 0; i < 64; i += kLanes) {
      largest = Larger(largest, Load<Ints>(x + i) & 0x7fffffff);
    }
  });
  return LargestLane(largest);
}

// to[i] = round(x[i] * inverse) ^ kFlip for the 64 inputs of a chunk.
template <int8_t kFlip>
inline void QuantiseChunk(const float* x, float inverse, uint8_t* to) {
#if defined(__AVX512F__)
  __m512i q[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) q[i] = _mm512_cvtps_epi32(Load<Floats>(x + 16 * i) * inverse);
  // Packing works on each 128-bit lane by itself; the permutation puts the lanes' pieces in order.
  const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  Store(to, _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(kFlip)));
#else
#pragma GCC unroll 16
  for (int i = 0; i < 64; i += kLanes) {
    Store(to + i, __builtin_convertvector(Round(Load<Floats>(x + i) * inverse), Bytes) ^ kFlip);
  }
#endif
}

// x ~ q * scale with q in [-127, 127] and scale = max |x| / 127, by row. kFlip is 0, or 0x80 to store q + 128 for
// instructions that take unsigned inputs. A row with a NaN or an infinity gets the scale NaN, and so do its results.
template <int8_t kFlip>
inline void PrepareInt8(const Preparation& job) {
  constexpr float kTiny = 1e-36f;  // 127 / max would overflow; nothing that small can be told from zero
  for (int32_t row = job.first_row; row < job.last_row; ++row) {
    const int32_t bits = LargestMagnitude(job, row);
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof(largest));
    const bool finite = bits < 0x7f800000;
    const float inverse = finite && largest > kTiny ? 127.0f / largest : 0.0f;
    job.scale[row] = finite ? (largest > kTiny ? largest / 127.0f : 0.0f) : __builtin_nanf("");
    uint8_t* to = RowInBlocks(job, row);
    const size_t step = static_cast<size_t>(job.height) * kChunkBytes;
    if (finite) {
      ForEachChunk<64>(job, row,
                       [&](int32_t chunk, const float* x) { QuantiseChunk<kFlip>(x, inverse, to + chunk * step); });
    } else {
      for (int32_t chunk = 0; chunk < job.chunks; ++chunk) __builtin_memset(to + chunk * step, 0, kChunkBytes);
    }
  }
}

}  // namespace
}  // namespace salient::linear_internal
