// A library of products on the host, with a library's habits. What it offers first it refuses to run for some numbers
// of rows, although it has said that it can. What it offers next divides its sums in another way for few rows than for
// many. What keeps the rows' bits comes last.

#pragma once

#include <cstdint>

namespace salient::emulation {

// Whether libraries that are opened from now on have an algorithm that keeps the rows' bits at all.
void SetSteadyGemm(bool has_one);
// Whether that algorithm also keeps its bits where it may fill a part of the device only.
void SetGemmLeavesRoom(bool keeps_bits);
// How many products were told to fill a part of the device only.
int64_t GemmsThatLeftRoom();

}  // namespace salient::emulation
