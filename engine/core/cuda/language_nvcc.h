// The language of kernels under nvcc (language.h): included by nothing else.

#pragma once

#include <cuda_runtime.h>

#include "engine/core/cuda/device.h"

namespace salient::cuda {

__device__ inline unsigned char* DynamicShared() {
  extern __shared__ __align__(16) unsigned char salient_dynamic_shared[];
  return salient_dynamic_shared;
}

// Waits until the kernels before this one have finished and their writes are seen. Kernels are launched while their
// predecessor still runs, to hide the launch (programmatic dependent launch): so every kernel, in every block, begins
// with this. Only weights, which no kernel ever writes, may be read before it. Before sm_90 launches do not overlap and
// there is nothing to wait for.
__device__ inline void WaitForPrevious() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// A block has at most 48 KB of shared memory, static and dynamic, unless its kernel is allowed more. No kernel has more
// than 16 KB of the static kind.
inline constexpr size_t kMostWithoutAsking = 32 << 10;

// Allows a kernel all the shared memory that a block may have. Always the same value: it is the process's, and another
// engine's thread may set it between this call and the launch.
template <typename Kernel>
void AllowSharedMemory(Device& device, Kernel* kernel) {
  cudaFuncAttributes own = {};
  device.Check(cudaFuncGetAttributes(&own, kernel), "cudaFuncGetAttributes");
  if (!device.ok()) return;
  const int rest = static_cast<int>(device.shared_bytes() - own.sharedSizeBytes);
  device.Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, rest), "cudaFuncSetAttribute");
}

template <typename... Parameters, typename... Arguments>
void Launch(Device& device, const LaunchShape& shape, void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (shape.grid_x == 0 || shape.grid_y == 0 || !device.ok()) return;
  if (shape.shared_bytes > kMostWithoutAsking) AllowSharedMemory(device, kernel);
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(shape.grid_x, shape.grid_y);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = static_cast<cudaStream_t>(device.stream());
  config.attrs = &overlap;
  config.numAttrs = device.overlaps_launches() ? 1 : 0;
  device.Check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a kernel launch");
}

}  // namespace salient::cuda
