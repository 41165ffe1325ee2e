// The CUDA backend in its three number formats, on the device that the program is linked with: a GPU, or the emulation.

#include <cstdio>
#include <cstdlib>

#include "tests/backend/backend_fixture.h"

namespace salient {

std::vector<BackendCase> BackendCases() {
  return {{.name = "cuda_f32", .compute = ComputeType::kF32, .cuda = true},
          {.name = "cuda_bf16", .compute = ComputeType::kBF16, .cuda = true},
          {.name = "cuda_int8", .compute = ComputeType::kInt8, .cuda = true}};
}

std::unique_ptr<Backend> MakeBackend(const BackendCase& backend) {
  absl::StatusOr<std::unique_ptr<Backend>> made = MakeCudaBackend({.compute = backend.compute, .host_visible = true});
  if (made.ok()) return *std::move(made);
  std::fprintf(stderr, "%s\n", made.status().ToString().c_str());
  std::abort();
}

}  // namespace salient
