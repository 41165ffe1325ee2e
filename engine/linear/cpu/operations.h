// Linear layers on the CPU; contract in engine/linear/linear.h.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/core/element_type.h"
#include "engine/linear/linear.h"

namespace salient {

class ThreadPool;

// What kAuto stands for on this machine; other types stand for themselves.
ComputeType ResolveComputeCpu(ComputeType type);
std::unique_ptr<PackedLinear> PackLinearCpu(const LinearWeights& weights, ComputeType type, ThreadPool& pool);
// Of a layer that PackLinearCpu packed.
std::unique_ptr<PackedLinear> PickOutputsCpu(const PackedLinear& layer, std::span<const int32_t> outputs,
                                             ThreadPool& pool);
void LinearCpu(const LinearArgs& args, ThreadPool& pool);

}  // namespace salient
