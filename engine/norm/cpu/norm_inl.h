// Layer norm, sines and rotations of one row, for one instruction set S (engine/base/simd_portable.h). Every file that
// includes this makes its own table with NormTable<Simd>().

#pragma once

#include <cmath>
#include <cstdint>

#include "engine/base/simd_math.h"
#include "engine/norm/cpu/kernels.h"

namespace salient {

template <typename S>
void LayerNormRow(const float* x, int32_t width, const float* weight, const float* bias, float epsilon, float* y) {
  using F = typename S::F;
  F sum = S::Set(0);
  for (int32_t c = 0; c < width; c += S::kLanes) sum = S::Add(sum, LoadUpTo<S>(x + c, width - c));
  const float mean = S::Sum(sum) / static_cast<float>(width);
  F squares = S::Set(0);
  const int32_t whole = width / S::kLanes * S::kLanes;
  for (int32_t c = 0; c < whole; c += S::kLanes) {
    const F centred = S::Sub(S::Load(x + c), S::Set(mean));
    squares = S::MulAdd(centred, centred, squares);
  }
  float variance = S::Sum(squares);
  for (int32_t c = whole; c < width; ++c) variance += (x[c] - mean) * (x[c] - mean);
  const F inverse = S::Set(1.0f / std::sqrt(variance / static_cast<float>(width) + epsilon));
  for (int32_t c = 0; c < width; c += S::kLanes) {
    const F normal = S::Mul(S::Sub(LoadUpTo<S>(x + c, width - c), S::Set(mean)), inverse);
    StoreUpTo<S>(y + c, S::MulAdd(normal, LoadUpTo<S>(weight + c, width - c), LoadUpTo<S>(bias + c, width - c)),
                 width - c);
  }
}

// Turns are reduced in double precision, where a position of thousands loses nothing; a quarter turn is left for the
// polynomials. Plain loops that compilers make vectors of.
template <typename S>
void SinCos(double position, const double* turns, int32_t n, float* sine, float* cosine) {
  constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52: adding it leaves no room for a fraction
  constexpr float kRoundFloat = 12582912.0f;           // 1.5 * 2^23
  constexpr float kQuarter = 1.57079633f;
  for (int32_t c = 0; c < n; ++c) {
    const double turned = position * turns[c];
    const double whole = (turned + kRoundDouble) - kRoundDouble;
    const float quarters = static_cast<float>((turned - whole) * 4);  // [-2, 2]
    const float nearest = (quarters + kRoundFloat) - kRoundFloat;
    const float x = (quarters - nearest) * kQuarter;  // [-pi / 4, pi / 4]
    const float x2 = x * x;
    const float s = x + x * x2 * (-1.6666667e-1f + x2 * (8.3333310e-3f + x2 * (-1.9840874e-4f + x2 * 2.7525562e-6f)));
    const float k = 1.0f + x2 * (-0.5f + x2 * (4.1666667e-2f + x2 * (-1.3888889e-3f + x2 * 2.4801587e-5f)));
    const int32_t quadrant = static_cast<int32_t>(nearest);
    const bool swap = (quadrant & 1) != 0;
    const float a = swap ? k : s, b = swap ? s : k;
    sine[c] = (quadrant & 2) != 0 ? -a : a;
    cosine[c] = ((quadrant + 1) & 2) != 0 ? -b : b;
  }
}

template <typename S>
void Scale(const float* x, int32_t n, float scale, float* y) {
  for (int32_t c = 0; c < n; ++c) y[c] = x[c] * scale;
}

template <typename S>
void ScaleAdd(const float* x, int32_t n, float scale, const float* addend, float* y) {
  for (int32_t c = 0; c < n; ++c) y[c] = x[c] * scale + addend[c];
}

template <typename S>
void RotatePairs(float* a, float* b, const float* sine, const float* cosine, int32_t n) {
  for (int32_t c = 0; c < n; ++c) {
    const float before = a[c];
    a[c] = before * cosine[c] - b[c] * sine[c];
    b[c] = b[c] * cosine[c] + before * sine[c];
  }
}

template <typename S>
constexpr NormKernels NormTable() {
  return {.layer_norm = LayerNormRow<S>,
          .sin_cos = SinCos<S>,
          .scale = Scale<S>,
          .scale_add = ScaleAdd<S>,
          .rotate = RotatePairs<S>};
}

}  // namespace salient
