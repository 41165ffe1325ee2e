// Recurrences on the CPU; contracts in engine/recurrence/ssru.h.

#pragma once

#include "engine/recurrence/ssru.h"

namespace salient {

class ThreadPool;

void SsruCpu(const SsruArgs& args, ThreadPool& pool);

}  // namespace salient
