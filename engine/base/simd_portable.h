// Vectors of eight floats for kernels, in portable C++.
//
// simd_portable.h, simd_avx2.h and simd_avx512.h define the same interface `Simd` for different instruction sets. Each
// defines it in an unnamed namespace: template instances are then local to a translation unit, and the linker cannot
// replace code for one instruction set by code for another. A kernel's file includes exactly one of them.

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace salient {
namespace {

struct Simd {
  static constexpr int kLanes = 8;
  struct F {
    float v[kLanes];
  };

  static F Set(float x) {
    F r;
    for (float& v : r.v) v = x;
    return r;
  }
  static F Load(const float* p) {
    F r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = p[i];
    return r;
  }
  // bf16
  static F Load(const uint16_t* p) {
    F r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = std::bit_cast<float>(static_cast<uint32_t>(p[i]) << 16);
    return r;
  }
  static F Load(const int8_t* p) {
    F r;
    for (int i = 0; i < kLanes; ++i) r.v[i] = static_cast<float>(p[i]);
    return r;
  }
  // Loads 2 kLanes consecutive bf16 as two vectors: the elements at even and at odd indices.
  static void LoadPairs(const uint16_t* p, F* even, F* odd) {
    for (int i = 0; i < kLanes; ++i) {
      even->v[i] = std::bit_cast<float>(static_cast<uint32_t>(p[2 * i]) << 16);
      odd->v[i] = std::bit_cast<float>(static_cast<uint32_t>(p[2 * i + 1]) << 16);
    }
  }
  // The first n lanes, 0 < n < kLanes; the others are zero.
  template <typename T>
  static F LoadPart(const T* p, int n) {
    T buffer[kLanes] = {};
    for (int i = 0; i < n; ++i) buffer[i] = p[i];
    return Load(buffer);
  }
  static void Store(float* p, F a) {
    for (int i = 0; i < kLanes; ++i) p[i] = a.v[i];
  }
  static void StorePart(float* p, F a, int n) {
    for (int i = 0; i < n; ++i) p[i] = a.v[i];
  }

  static F Add(F a, F b) {
    for (int i = 0; i < kLanes; ++i) a.v[i] += b.v[i];
    return a;
  }
  static F Sub(F a, F b) {
    for (int i = 0; i < kLanes; ++i) a.v[i] -= b.v[i];
    return a;
  }
  static F Mul(F a, F b) {
    for (int i = 0; i < kLanes; ++i) a.v[i] *= b.v[i];
    return a;
  }
  static F MulAdd(F a, F b, F c) {  // a b + c
    for (int i = 0; i < kLanes; ++i) c.v[i] += a.v[i] * b.v[i];
    return c;
  }
  // b where one of them is NaN
  static F Max(F a, F b) {
    for (int i = 0; i < kLanes; ++i) a.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return a;
  }
  static float Sum(F a) { return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7])); }
  // The sums of four vectors.
  static void Sum4(F a, F b, F c, F d, float* sums) {
    sums[0] = Sum(a);
    sums[1] = Sum(b);
    sums[2] = Sum(c);
    sums[3] = Sum(d);
  }
  static float Largest(F a) {
    float r = a.v[0];
    for (float v : a.v) r = v > r ? v : r;
    return r;
  }
  // Bit i is set where a_i > b_i.
  static uint32_t Above(F a, F b) {
    uint32_t bits = 0;
    for (int i = 0; i < kLanes; ++i) bits |= static_cast<uint32_t>(a.v[i] > b.v[i]) << i;
    return bits;
  }
  // To the nearest whole number, for |a| < 2^22.
  static F Round(F a) {
    for (float& v : a.v) v = (v + kMagic) - kMagic;
    return a;
  }
  // a * 2^n, n whole and in [-126, 127], or NaN where a is NaN, too
  static F Scale(F a, F n) {
    // The lower bits of n + kMagic are n's. A cast to an integer would be undefined for a NaN.
    for (int i = 0; i < kLanes; ++i) {
      a.v[i] *= std::bit_cast<float>((std::bit_cast<uint32_t>(n.v[i] + kMagic) + 127) << 23);
    }
    return a;
  }
  // a where the bit is set, else b
  static F Where(uint32_t bits, F a, F b) {
    for (int i = 0; i < kLanes; ++i) a.v[i] = (bits >> i & 1) != 0 ? a.v[i] : b.v[i];
    return a;
  }
  // 0 where x < bound, else a, also where x is NaN
  static F ZeroBelow(F a, F x, F bound) {
    for (int i = 0; i < kLanes; ++i) a.v[i] = x.v[i] < bound.v[i] ? 0.0f : a.v[i];
    return a;
  }

 private:
  static constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: adding it leaves no room for a fraction
};

}  // namespace
}  // namespace salient
