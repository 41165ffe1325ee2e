// A library of products on the host, with a library's habits. What it offers first it refuses to run for some numbers
// of rows, although it has said that it can. What it offers next divides its sums in another way for few rows than for
// many. What keeps the rows' bits comes last.

#pragma once

namespace salient::emulation {

// Whether libraries that are opened from now on have an algorithm that keeps the rows' bits at all.
void SetSteadyGemm(bool has_one);

}  // namespace salient::emulation
