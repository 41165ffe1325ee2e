// The CUDA backend on a given device: MakeCudaBackend uses it with the machine's GPU, tests with an emulated device.

#pragma once

#include <memory>

#include "engine/backend/backend.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {

absl::StatusOr<std::unique_ptr<Backend>> MakeBackendOn(std::unique_ptr<Device> device, const CudaOptions& options);

}  // namespace salient::cuda
