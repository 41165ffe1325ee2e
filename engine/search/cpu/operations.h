// From logits to candidates on the CPU; contract in engine/search/candidates.h.

#pragma once

#include "engine/search/candidates.h"

namespace salient {

class ThreadPool;

void CandidatesCpu(const CandidatesArgs& args, ThreadPool& pool);
void TopProbabilityCpu(const TopProbabilityArgs& args, ThreadPool& pool);

}  // namespace salient
