// From logits to next tokens on a CUDA device; contracts in engine/search/candidates.h. All pointers are the device's.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/core/cuda/device.h"
#include "engine/search/advance.h"
#include "engine/search/align.h"
#include "engine/search/candidates.h"

namespace salient::cuda {

// What the blocks that share a row's vocabulary leave to each other, on the device.
struct CandidateSpace {
  int32_t* done = nullptr;     // [rows.capacity], zero between calls
  std::byte* parts = nullptr;  // [CandidatePartBytes]
};
// `width`: of candidates; 0 for TopProbability.
size_t CandidatePartBytes(int32_t rows, const Logits& logits, int32_t width);

void Candidates(Device& device, const CandidatesArgs& args, const CandidateSpace& space);
void TopProbability(Device& device, const TopProbabilityArgs& args, const CandidateSpace& space);
void Align(Device& device, const AlignArgs& args);
void Advance(Device& device, const AdvanceArgs& args);
void AdvanceBeams(Device& device, const AdvanceArgs& args);  // the part of Advance that beams alone need
void MergeNewRows(Device& device, const MergeNewRowsArgs& args);

}  // namespace salient::cuda
