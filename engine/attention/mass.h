// Softmax mass in fixed point, so that kMass, too, picks the same keys on every backend and in every order of summing.
//
//   weight(score) = 2^31 * exp((score - best) * query_step * key_step / sqrt(ds)), truncated,
//
// with the exponent truncated to 1/1024 of a power of two (weights within 0.07 %). Sums of weights are exact integers.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace salient {

inline constexpr int kMassSteps = 1024;  // steps of the exponent a power of two
// Below 2^-31 of the best key a weight is zero.
inline constexpr int kMassSpan = 32 * kMassSteps;

// 2^31 * 2^(-i / kMassSteps).
inline const std::array<uint32_t, kMassSteps>& MassTable() {
  static const std::array<uint32_t, kMassSteps> table = [] {
    std::array<uint32_t, kMassSteps> values;
    for (int i = 0; i < kMassSteps; ++i) {
      values[i] = static_cast<uint32_t>(std::lrint(std::exp2(31.0 - static_cast<double>(i) / kMassSteps)));
    }
    return values;
  }();
  return table;
}

// Steps of the exponent for each unit of score.
inline float MassScale(float largest_query, float key_inverse_step, int32_t selection_width) {
  constexpr float kStepsPerE = 1.44269504f * kMassSteps;
  return largest_query / 127.0f / key_inverse_step / std::sqrt(static_cast<float>(selection_width)) * kStepsPerE;
}

// `below`: how far the score is below the best one, an integer under 2^24.
inline uint32_t MassWeight(int32_t below, float scale) {
  const float steps = std::min(static_cast<float>(kMassSpan), static_cast<float>(below) * scale);
  const int32_t step = static_cast<int32_t>(steps);
  if (step >= kMassSpan) return 0;
  return MassTable()[step % kMassSteps] >> (step / kMassSteps);
}

}  // namespace salient
