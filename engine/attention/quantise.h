// Numbers as int8, as selection and the int8 key store have them: component = round(x * factor), where
// factor = 127 / max |x|. The same bits on every backend.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace salient {

// Zeros would divide by zero; the training code uses the same floor.
inline constexpr float kLeastLargest = 1e-20f;

// `largest`: max |x|. What is multiplied by the factor lies within [-127, 127].
constexpr float QuantisationFactor(float largest) {
  return 127.0f / (largest < kLeastLargest ? kLeastLargest : largest);
}
// What one step of a component stands for.
constexpr float QuantisationStep(float largest) { return largest / 127.0f; }

// Rounds half to even and clamps to [-127, 127]; a NaN becomes 127.
inline int8_t QuantiseComponent(float value, float factor) {
  return static_cast<int8_t>(std::nearbyint(std::max(-127.0f, std::min(127.0f, value * factor))));
}

}  // namespace salient
