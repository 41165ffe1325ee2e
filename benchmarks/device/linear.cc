#include <cstdio>
#include <memory>

#include "benchmarks/device/bench.h"

namespace salient {
namespace {

// Seconds of one call, over weights that no cache holds between two of them.
double MeasureLinear(Backend& backend, const std::vector<std::unique_ptr<PackedLinear>>& layers, int32_t rows,
                     bool counted) {
  const PackedLinear& shape = *layers.front();
  const DeviceArray<float> input = OnDevice(backend.memory(), Normal(static_cast<size_t>(rows) * shape.inputs(), 1));
  const DeviceArray<int32_t> count = OnDevice(backend.memory(), std::vector<int32_t>(1, rows));
  DeviceArray<float> output = backend.Array<float>(static_cast<size_t>(rows) * shape.outputs());
  std::vector<double> times;
  for (int round = 0; round < 9; ++round) {
    const Clock::time_point start = Clock::now();
    for (const std::unique_ptr<PackedLinear>& layer : layers) {
      backend.Linear({.weight = layer.get(),
                      .rows = {nullptr, counted ? count.data() : nullptr, rows},
                      .input = input.data(),
                      .activation = Activation::kRelu,
                      .output = output.data()});
    }
    Finish(backend, output);
    if (round > 1) times.push_back(Seconds(start) / static_cast<double>(layers.size()));
  }
  return Median(times);
}

}  // namespace

void BenchLinear(Backend& backend, bool small) {
  std::printf("\n## Linear layers\n\n| K x N, rows | known to the host | counted on the device |\n|---|---|---|\n");
  constexpr int32_t kShapes[][2] = {{512, 512}, {512, 2048}, {2048, 512}};
  for (const auto& [inputs, outputs] : kShapes) {
    std::vector<std::unique_ptr<PackedLinear>> layers;
    const std::vector<float> weight = Normal(static_cast<size_t>(inputs) * outputs, 0.05f);
    for (int layer = 0; layer < (small ? 2 : 32); ++layer) {
      layers.push_back(backend.Pack({weight.data(), nullptr, inputs, outputs}));
    }
    for (const int32_t rows : {1, 16, 64, 2048}) {
      if (small && rows > 64) continue;
      std::printf("| %d x %d, %d |", inputs, outputs, rows);
      for (const bool counted : {false, true}) {
        const double seconds = MeasureLinear(backend, layers, rows, counted);
        std::printf(" %.1f us, %.2f TFLOPS |", seconds * 1e6, 2e-12 * rows * inputs * outputs / seconds);
      }
      std::printf("\n");
      std::fflush(stdout);
    }
  }
}

}  // namespace salient
