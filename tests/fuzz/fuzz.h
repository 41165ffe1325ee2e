// The interface of fuzz targets, and functions for them.
//
// A target defines LLVMFuzzerTestOneInput, which must return 0 for any input and abort if a promise is broken, and
// Seeds, the inputs that the driver mutates.

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

// Aborts unless `holds`; libFuzzer and the driver then report the input.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace salient
