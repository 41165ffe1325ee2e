// Functions of vectors for kernels. The template argument S is a `Simd` (simd_portable.h, simd_avx2.h, simd_avx512.h).

#pragma once

#include <algorithm>

namespace salient {

// Loads min(n, kLanes) lanes from p; the other lanes are zero.
template <typename S, typename T>
inline typename S::F LoadUpTo(const T* p, int n) {
  return n >= S::kLanes ? S::Load(p) : S::LoadPart(p, n);
}

template <typename S>
inline void StoreUpTo(float* p, typename S::F a, int n) {
  n >= S::kLanes ? S::Store(p, a) : S::StorePart(p, a, n);
}

// 2^x with a relative error of at most 2e-7, for x <= 127; exactly 0 for x < -126, minus infinity included. A NaN
// stays one.
template <typename S>
inline typename S::F Exp2(typename S::F x) {
  using F = typename S::F;
  const F least = S::Set(-126.0f);
  const F clamped = S::Max(least, x);
  const F whole = S::Round(clamped);
  const F r = S::Sub(clamped, whole);  // [-1/2, 1/2]
  // Taylor coefficients of 2^r, ln(2)^n / n!; the first omitted term is less than 2e-7.
  F y = S::Set(1.5403530e-4f);
  y = S::MulAdd(y, r, S::Set(1.3333558e-3f));
  y = S::MulAdd(y, r, S::Set(9.6181291e-3f));
  y = S::MulAdd(y, r, S::Set(5.5504109e-2f));
  y = S::MulAdd(y, r, S::Set(2.4022651e-1f));
  y = S::MulAdd(y, r, S::Set(6.9314718e-1f));
  y = S::MulAdd(y, r, S::Set(1.0f));
  return S::ZeroBelow(S::Scale(y, whole), x, least);
}

}  // namespace salient
