// The tokens of a vocabulary that are not text.

#pragma once

#include <cstdint>

namespace salient {

struct SpecialTokens {
  int32_t pad = 0, unknown = 1, begin = 2, end = 3, separator = 4;
};

}  // namespace salient
