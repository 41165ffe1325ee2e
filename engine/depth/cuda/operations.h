// Exits and fills on a CUDA device; contracts in engine/depth. All pointers are the device's.

#pragma once

#include "engine/core/cuda/device.h"
#include "engine/depth/exit.h"
#include "engine/depth/fill.h"

namespace salient::cuda {

void DecideExits(Device& device, const DecideExitsArgs& args);
void ResolveExits(Device& device, const ResolveExitsArgs& args);
void PickRows(Device& device, const PickRowsArgs& args);
void CollectFills(Device& device, const CollectFillsArgs& args);
void KeepExitStates(Device& device, const KeepExitStatesArgs& args);

}  // namespace salient::cuda
