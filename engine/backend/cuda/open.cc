// MakeCudaBackend of builds with a CUDA device, real or emulated: OpenDevice says which.

#include "engine/backend/cuda/cuda_backend.h"

namespace salient {

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const CudaOptions& options) {
  absl::StatusOr<std::unique_ptr<cuda::Device>> device = cuda::OpenDevice();
  if (!device.ok()) return device.status();
  return cuda::MakeBackendOn(*std::move(device), options);
}

}  // namespace salient
