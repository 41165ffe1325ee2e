// The CUDA backend on a given device: MakeCudaBackend uses it with the machine's GPU, tests with an emulated device.

#pragma once

#include <memory>
#include <string>

#include "engine/backend/backend.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {

absl::StatusOr<std::unique_ptr<Backend>> MakeBackendOn(std::unique_ptr<Device> device, const CudaOptions& options);

// Which algorithm computes an encoder's layers, a line for each shape that was packed so far. Empty for
// a backend of another device.
std::string GemmReport(const Backend& backend);

// The device's own copy, for measuring what its memory gives: ordered among the backend's operations, does not wait.
// Does nothing and returns false for a backend of another device.
bool CopyOnDevice(Backend& backend, void* to, const void* from, size_t bytes);

}  // namespace salient::cuda
