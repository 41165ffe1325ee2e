// Activations on vectors, to a few units in the last place of fp32; a NaN comes out as one.

#pragma once

#include "engine/linear/cpu/simd.h"
#include "engine/linear/linear.h"

namespace salient::linear_internal {
namespace {

template <int N>
inline Floats Polynomial(Floats x, const float (&coefficients)[N]) {  // highest power first
  Floats sum = Broadcast(coefficients[0]);
#pragma GCC unroll 8
  for (int i = 1; i < N; ++i) sum = sum * x + coefficients[i];
  return sum;
}

// 2^n e^r with n = round(x / ln 2) and |r| <= ln 2 / 2; ln 2 in two parts, so that n ln2_high is exact.
inline Floats Exp(Floats x) {
  constexpr float kLog2E = 1.44269504f, kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kTaylor[] = {1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
  x = Clamp(x, -87.0f, 88.0f);
  const Ints n = Round(x * kLog2E);
  const Floats r = x - ToFloats(n) * kLn2High - ToFloats(n) * kLn2Low;
  return Polynomial(r, kTaylor) * AsFloats((n + 127) << 23);
}

// x P(x^2) / Q(x^2) on [-4, 4], outside of which erf is 1 in fp32: the minimax fit that Eigen and XLA use.
inline Floats Erf(Floats x) {
  constexpr float kP[] = {-2.72614225801306e-10f, 2.77068142495902e-08f,  -2.10102402082508e-06f,
                          -5.69250639462346e-05f, -7.34990630326855e-04f, -2.95459980854025e-03f,
                          -1.60960333262415e-02f};
  constexpr float kQ[] = {-1.45660718464996e-05f, -2.13374055278905e-04f, -1.68282697438203e-03f,
                          -7.37332916720468e-03f, -1.42647390514189e-02f};
  x = Clamp(x, -4.0f, 4.0f);
  const Floats square = x * x;
  return Clamp(x * Polynomial(square, kP) / Polynomial(square, kQ), -1.0f, 1.0f);
}

template <Activation kActivation>
inline Floats Activate(Floats x) {
  if constexpr (kActivation == Activation::kRelu) {
    return x < Floats{} ? Floats{} : x;
  } else if constexpr (kActivation == Activation::kGelu) {
    return x * 0.5f * (1.0f + Erf(x * 0.707106781f));
  } else if constexpr (kActivation == Activation::kSwish) {
    return x / (1.0f + Exp(-x));
  } else {
    return x;
  }
}

}  // namespace
}  // namespace salient::linear_internal
