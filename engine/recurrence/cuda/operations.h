// Recurrences on a CUDA device; contracts in engine/recurrence/ssru.h. All pointers are the device's.

#pragma once

#include "engine/core/cuda/device.h"
#include "engine/recurrence/ssru.h"

namespace salient::cuda {

void Ssru(Device& device, const SsruArgs& args);

}  // namespace salient::cuda
