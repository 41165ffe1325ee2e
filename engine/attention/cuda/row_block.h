// A block of threads that works for one row of a call: what selection and attention of single rows have in common.

#pragma once

#include "engine/core/cuda/language.h"

namespace salient::cuda {

inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kWarp;

}  // namespace salient::cuda
