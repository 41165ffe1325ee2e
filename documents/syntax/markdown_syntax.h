// The bytes of Markdown that md4c does not report: delimiters of spans, titles of links, front matter.

#pragma once

#include <md4c.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "documents/markup.h"

namespace salient {

// The length of a span's opening delimiter, which ends at `at`; `begin` is the beginning of the Markdown in the text.
size_t OpeningLength(std::string_view text, size_t begin, MD_SPANTYPE span, size_t at);

// The end of a span's opening or closing delimiter, which begins at `at`. The end of a link is behind "](destination
// \"title\")", "][label]" or "]". The time is that of reading to the end of `text`: what follows "](" may have no end.
size_t DelimiterEnd(std::string_view text, MD_SPANTYPE span, bool closing, size_t at);

// Whether the range can be such a delimiter.
bool IsDelimiter(std::string_view text, MD_SPANTYPE span, bool closing, ByteRange range);

// Whether the character at `at` is a backslash that makes the next one plain text.
bool IsEscape(std::string_view text, size_t at);

// The text between the quotes or parentheses of a link's title. `link`: the closing delimiter of the link.
std::optional<ByteRange> LinkTitle(std::string_view text, ByteRange link);

// The end of front matter in YAML or TOML; the beginning of the text if there is none.
size_t FrontMatterEnd(std::string_view text);

}  // namespace salient
