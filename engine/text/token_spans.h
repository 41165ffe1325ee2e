// Where tokens stand in the text that they were cut from, or that was put together of them.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace salient {

struct TokenSpan {
  int32_t begin = 0, end = 0;  // bytes; the same where the token is white space alone, or nothing
};

// Of each token its bytes in `text`. Exact where normalization leaves the text's bytes alone; else words are exact as
// long as both have as many, and bytes within a word are those at the same distance from its beginning.
std::vector<TokenSpan> TokenSpans(const Tokenizer& tokenizer, const std::vector<int32_t>& tokens,
                                  std::string_view text);

}  // namespace salient
