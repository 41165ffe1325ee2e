// The size of a thread block that computes one row of a call, the same for selection and attention of single rows.

#pragma once

#include "engine/core/cuda/language.h"

namespace salient::cuda {

inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kWarp;

}  // namespace salient::cuda
