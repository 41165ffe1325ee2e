// Row-wise operations on a CUDA device; contracts in engine/norm/norm.h. All pointers are the device's.

#pragma once

#include "engine/core/cuda/device.h"
#include "engine/norm/norm.h"

namespace salient::cuda {

void LayerNorm(Device& device, const LayerNormArgs& args);
// `turns`: [width / 2] how far one position turns component c, in turns of the circle.
void Embed(Device& device, const EmbedArgs& args, const double* turns);
// `turns`: [head_width / 2], likewise.
void Rotate(Device& device, const RotateArgs& args, const double* turns);
void GatherRows(Device& device, const GatherRowsArgs& args);
void MeanRows(Device& device, const MeanRowsArgs& args);

}  // namespace salient::cuda
