// Row-wise operations on the CPU; contracts in engine/norm/norm.h.

#pragma once

#include "engine/norm/norm.h"

namespace salient {

class ThreadPool;

void LayerNormCpu(const LayerNormArgs& args, ThreadPool& pool);
void EmbedCpu(const EmbedArgs& args, ThreadPool& pool);
void RotateCpu(const RotateArgs& args, ThreadPool& pool);

}  // namespace salient
