// Layer norm, embedding and rotation on the CPU: rows divided among the threads.

#include "engine/norm/norm.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "engine/base/parallel.h"
#include "engine/norm/cpu/kernels.h"
#include "engine/norm/cpu/operations.h"

namespace salient {
namespace {

// The rotation from one position to the next, in turns: base^(-c / half) / (2 pi) for c < half. Computing these powers
// costs more than rotating a row. A model has only a few pairs (half, base), so the last few tables are kept.
const std::vector<double>& Turns(int32_t half, double base) {
  struct Entry {
    double base = 0;
    std::vector<double> turns;
  };
  thread_local std::array<Entry, 4> entries;
  thread_local size_t oldest = 0;
  for (const Entry& entry : entries) {
    if (entry.base == base && entry.turns.size() == static_cast<size_t>(half)) return entry.turns;
  }
  Entry& entry = entries[oldest++ % entries.size()];
  entry.base = base;
  entry.turns.clear();
  for (int32_t c = 0; c < half; ++c) {
    entry.turns.push_back(std::pow(base, -static_cast<double>(c) / half) / (2 * std::numbers::pi));
  }
  return entry.turns;
}

// A buffer of n floats, owned by this thread and valid until its next call.
float* Scratch(size_t n) {
  thread_local std::vector<float> scratch;
  if (scratch.size() < n) scratch.resize(n);
  return scratch.data();
}

}  // namespace

void LayerNormCpu(const LayerNormArgs& args, ThreadPool& pool) {
  const NormKernels& kernels = NormKernelsFor(DetectCpuIsa());
  const int64_t width = args.width;
  ParallelRanges(pool, args.rows.size(), width * 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = args.rows[static_cast<int32_t>(i)];
      const int64_t set = args.set == nullptr ? 0 : args.set[row];
      kernels.layer_norm(args.input + row * width, args.width, args.weight + set * width, args.bias + set * width,
                         args.epsilon, args.output + (args.scatter ? row : i) * width);
    }
  });
}

void EmbedCpu(const EmbedArgs& args, ThreadPool& pool) {
  const NormKernels& kernels = NormKernelsFor(DetectCpuIsa());
  const int32_t width = args.width, half = width / 2;
  const std::vector<double>& turns = Turns(half, args.base);
  ParallelRanges(pool, args.rows.size(), int64_t{width} * 16, [&](int64_t begin, int64_t end) {
    float* const sinusoid = Scratch(width);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = args.rows[static_cast<int32_t>(i)];
      const float* x = args.table + static_cast<int64_t>(args.tokens[row]) * width;
      float* y = args.output + row * width;
      if (args.offsets == nullptr) {
        kernels.scale(x, width, args.scale, y);
        continue;
      }
      kernels.sin_cos(args.offsets[row] + args.first_position, turns.data(), half, sinusoid, sinusoid + half);
      kernels.scale_add(x, width, args.scale, sinusoid, y);
    }
  });
}

void RotateCpu(const RotateArgs& args, ThreadPool& pool) {
  const NormKernels& kernels = NormKernelsFor(DetectCpuIsa());
  const int32_t half = args.head_width / 2;
  const std::vector<double>& turns = Turns(half, args.base);
  const int64_t work = int64_t{half} * (16 + 6 * args.heads);
  ParallelRanges(pool, args.rows.size(), work, [&](int64_t begin, int64_t end) {
    float* const sine = Scratch(args.head_width);
    float* const cosine = sine + half;
    for (int64_t i = begin; i < end; ++i) {
      kernels.sin_cos(args.positions[args.rows[static_cast<int32_t>(i)]], turns.data(), half, sine, cosine);
      for (int32_t head = 0; head < args.heads; ++head) {
        float* x = args.values + i * args.stride + static_cast<int64_t>(head) * args.head_width;
        kernels.rotate(x, x + half, sine, cosine, half);
      }
    }
  });
}

}  // namespace salient
