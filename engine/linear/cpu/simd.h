// Vectors of the widest kind that the including file is compiled for, on the compiler's vector extension.
//
// Multiplication and addition are separate roundings unless Fma says otherwise, so that the results of code which does
// not call Fma are the same bits on every instruction set. Everything is in an unnamed namespace because the including
// files are compiled for different machines; no standard header with code is included for the same reason.

#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace salient::linear_internal {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

using Floats = float __attribute__((vector_size(4 * kLanes)));
using Ints = int32_t __attribute__((vector_size(4 * kLanes)));
using Shorts = int16_t __attribute__((vector_size(2 * kLanes)));
using Bytes = int8_t __attribute__((vector_size(kLanes)));

template <class Vector, class T>
inline Vector Load(const T* from) {
  Vector vector;
  __builtin_memcpy(&vector, from, sizeof(vector));
  return vector;
}

template <class Vector, class T>
inline void Store(T* to, Vector vector) {
  __builtin_memcpy(to, &vector, sizeof(vector));
}

inline Floats Broadcast(float x) { return x - Floats{}; }
inline Ints Broadcast(int32_t x) { return x - Ints{}; }
inline Ints AsInts(Floats x) { return (Ints)x; }
inline Floats AsFloats(Ints x) { return (Floats)x; }
inline Floats ToFloats(Ints x) { return __builtin_convertvector(x, Floats); }
// A NaN in x stays.
inline Floats Clamp(Floats x, float low, float high) {
  x = x < Broadcast(low) ? Broadcast(low) : x;
  return x > Broadcast(high) ? Broadcast(high) : x;
}

// To the nearest integer, ties to even, for |x| < 2^22: adding 1.5 * 2^23 leaves the integer in the low bits.
inline Ints Round(Floats x) {
  constexpr float kShift = 12582912.0f;
  return AsInts(x + kShift) - AsInts(Broadcast(kShift));
}

inline Ints Larger(Ints a, Ints b) {
#if defined(__AVX512F__)
  return (Ints)_mm512_max_epi32((__m512i)a, (__m512i)b);
#else
  return a > b ? a : b;
#endif
}

inline int32_t LargestLane(Ints x) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_epi32((__m512i)x);
#else
  int32_t largest = x[0];
  for (int lane = 1; lane < kLanes; ++lane) largest = x[lane] > largest ? x[lane] : largest;
  return largest;
#endif
}

// a * b + c, in one rounding where the machine can.
inline Floats Fma(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace
}  // namespace salient::linear_internal
