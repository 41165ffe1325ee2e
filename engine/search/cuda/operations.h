// From logits to next tokens on a CUDA device; contracts in engine/search/candidates.h. All pointers are the device's.

#pragma once

#include "engine/core/cuda/device.h"
#include "engine/search/advance.h"
#include "engine/search/align.h"
#include "engine/search/candidates.h"

namespace salient::cuda {

void Candidates(Device& device, const CandidatesArgs& args);
void TopProbability(Device& device, const TopProbabilityArgs& args);
void Align(Device& device, const AlignArgs& args);
void Advance(Device& device, const AdvanceArgs& args);
void AdvanceBeams(Device& device, const AdvanceArgs& args);  // the part of Advance that beams alone need
void MergeNewRows(Device& device, const MergeNewRowsArgs& args);

}  // namespace salient::cuda
