// The CUDA backend on a given device: what MakeCudaBackend makes of the machine's GPU, and tests of an emulated one.

#pragma once

#include <memory>

#include "engine/backend/backend.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {

absl::StatusOr<std::unique_ptr<Backend>> MakeBackendOn(std::unique_ptr<Device> device, const CudaOptions& options);

}  // namespace salient::cuda
