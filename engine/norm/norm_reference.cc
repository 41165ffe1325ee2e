// Layer norm, embedding and rotation in double precision: the oracle.

#include <cmath>
#include <cstdint>

#include "engine/norm/norm.h"

namespace salient {

void LayerNormReference(const LayerNormArgs& args) {
  const int32_t width = args.width;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const float* x = args.input + static_cast<size_t>(row) * width;
    float* y = args.output + static_cast<size_t>(args.scatter ? row : i) * width;
    const size_t set = args.set == nullptr ? 0 : args.set[row];
    double mean = 0, variance = 0;
    for (int32_t c = 0; c < width; ++c) mean += x[c];
    mean /= width;
    for (int32_t c = 0; c < width; ++c) variance += (x[c] - mean) * (x[c] - mean);
    const double inverse = 1 / std::sqrt(variance / width + args.epsilon);
    for (int32_t c = 0; c < width; ++c) {
      y[c] = static_cast<float>((x[c] - mean) * inverse * args.weight[set * width + c] + args.bias[set * width + c]);
    }
  }
}

void EmbedReference(const EmbedArgs& args) {
  const int32_t half = args.width / 2;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const float* x = args.table + static_cast<size_t>(args.tokens[row]) * args.width;
    float* y = args.output + static_cast<size_t>(row) * args.width;
    for (int32_t c = 0; c < args.width; ++c) {
      double value = static_cast<double>(x[c]) * args.scale;
      if (args.offsets != nullptr) {
        const double position = args.offsets[row] + args.first_position;
        const double angle = position * std::pow(args.base, -static_cast<double>(c % half) / half);
        value += c < half ? std::sin(angle) : std::cos(angle);
      }
      y[c] = static_cast<float>(value);
    }
  }
}

void RotateReference(const RotateArgs& args) {
  const int32_t half = args.head_width / 2;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const double position = args.positions[args.rows[i]];
    for (int32_t head = 0; head < args.heads; ++head) {
      float* x = args.values + static_cast<size_t>(i) * args.stride + head * args.head_width;
      for (int32_t c = 0; c < half; ++c) {
        const double angle = position * std::pow(static_cast<double>(args.base), -static_cast<double>(c) / half);
        const double a = x[c], b = x[c + half];
        x[c] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
        x[c + half] = static_cast<float>(b * std::cos(angle) + a * std::sin(angle));
      }
    }
  }
}

}  // namespace salient
