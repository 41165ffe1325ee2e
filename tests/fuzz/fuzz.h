// What a fuzz target provides, and what it may use.
//
// A target defines LLVMFuzzerTestOneInput, which must return 0 for any input and abort where a promise is broken, and
// Seeds, the inputs from which the driver makes others.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace salient {

std::vector<std::string> Seeds();

// Aborts, which both libFuzzer and the driver report with the input, unless `holds`.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace salient
