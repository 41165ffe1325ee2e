#include "documents/units/wrapped_text.h"

#include <unicode/utf8.h>

#include <algorithm>

#include "engine/text/document.h"

namespace salient {
namespace {

// Behind the white space at `at`: what SplitDocument takes for it.
size_t SpaceEnd(std::string_view text, size_t at) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  while (at < text.size()) {
    size_t next = at;
    UChar32 c;
    U8_NEXT(bytes, next, text.size(), c);
    if (!IsSegmentSpace(c)) break;
    at = next;
  }
  return at;
}

}  // namespace

size_t WalkSegment(std::string_view text, size_t at, std::string_view segment,
                   const std::function<void(ByteRange range, bool is_literal)>& piece) {
  for (size_t i = 0; i < segment.size();) {
    const size_t most = std::min(segment.size() - i, text.size() - at);
    size_t same = 0;
    while (same < most && text[at + same] == segment[i + same]) ++same;
    // The run of white space may begin with a space of its own.
    if (same > 0 && i + same < segment.size() && segment[i + same - 1] == ' ') --same;
    if (same > 0) piece({at, at + same}, /*is_literal=*/true);
    i += same;
    at += same;
    if (i == segment.size()) break;
    const size_t end = SpaceEnd(text, at);
    piece({at, end}, /*is_literal=*/false);
    at = end;
    ++i;
  }
  return at;
}

}  // namespace salient
