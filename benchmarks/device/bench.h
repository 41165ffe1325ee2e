// Common functions of device_bench: clocks, medians, data on the device, and the speed of the device.

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/model/config.h"
#include "engine/model/safetensors.h"

namespace salient {

using Clock = std::chrono::steady_clock;

inline double Seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

inline std::vector<float> Normal(size_t size, float deviation) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Waits until the device has done everything.
inline void Finish(Backend& backend, const DeviceArray<float>& any) {
  float value;
  backend.memory().CopyToHost(&value, any.data(), sizeof(value));
}

constexpr float kKeyInverseStep = 40.0f;  // of selection keys

// Speed of the device's own copy, in bytes read and written per second.
double CopySpeed(Backend& backend, bool small);

// The shape that the targets are given for (d 512, 8 heads, 6 + 6 layers, feed-forward 2,048, vocabulary 32,000), or a
// small one, and random weights for it that never produce the end token.
ModelConfig RandomModelConfig(bool small);
TensorFile RandomModelWeights(const ModelConfig& config);

// Each prints a section. `copy_speed`: as above.
void BenchLinear(Backend& backend, bool small);
void BenchAttention(Backend& backend, bool small, double copy_speed);
// `weight_bytes`: the size of a weight on the device.
absl::Status BenchDecoding(Backend& backend, bool small, double copy_speed, double weight_bytes);

}  // namespace salient
