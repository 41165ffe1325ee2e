// How fast a device attends and decodes, as Markdown tables.
//
//   device_bench [cuda|cuda-int8|cpu] [small]        `small`: shapes for rehearsing on a machine without a GPU
//
// Linear layers: with the rows known to the host, as an encoder's are, and counted on the device, as a step's are.
// Attention: one decoding step's calls for one layer, in bytes that must be read over time, beside the device's own
// copying speed; and the same with selection before it. Decoding: random weights in the shape that the targets are
// given for (d 512, 8 heads, 6 + 6 layers, feed-forward 2,048, vocabulary 32,000), random sources, dense, with
// selection, and with selection and early exits. Each setting is measured in turn, over and over, and the median is
// told, beside a floor: what a step must read, at the speed of copying.

#include <cstdio>
#include <cstring>
#include <string>

#include "benchmarks/device/bench.h"
#include "engine/backend/cuda/cuda_backend.h"

namespace salient {
namespace {

int Main(const std::string& device, bool small) {
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      device == "cpu" ? MakeCpuBackend({.threads = 0, .compute = ComputeType::kBF16})
                      : MakeCudaBackend({.compute = device == "cuda-int8" ? ComputeType::kInt8 : ComputeType::kAuto});
  if (!backend.ok()) {
    std::fprintf(stderr, "%s\n", backend.status().ToString().c_str());
    return 1;
  }
  std::printf("# %s\n", (*backend)->Name().c_str());
  const double copy_speed = CopySpeed(**backend, small);
  BenchLinear(**backend, small);
  if (const std::string report = cuda::GemmReport(**backend); !report.empty()) {
    std::printf("\nAlgorithms of the layers above where the rows are known to the host:\n\n```\n%s```\n",
                report.c_str());
  }
  BenchAttention(**backend, small, copy_speed);
  absl::Status status = BenchDecoding(**backend, small, copy_speed, device == "cuda-int8" ? 1 : 2);
  status.Update((*backend)->status());
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  const bool small = argc > 2 && std::strcmp(argv[2], "small") == 0;
  return salient::Main(argc > 1 ? argv[1] : "cuda", small);
}
