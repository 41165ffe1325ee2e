// Corrections of Unicode's sentence boundaries (UAX #29): full stops of abbreviations, initials and ordinal numbers,
// and closing quotation marks.

#pragma once

#include <cstddef>
#include <string_view>

namespace salient {

// Whether the sentence boundary that Unicode's rules find before byte `at` of `text` is false. False are boundaries
//   - after an abbreviation that usually does not end a sentence ("Dr. Smith", "z. B. Hunde", "No. 5");
//   - after a single letter ("J. S. Bach");
//   - after one or two digits, in languages whose ordinal numbers end in a full stop ("am 3. Oktober");
//   - after a closing quotation mark that a lower-case word follows ("'Really?' he asked").
// `text` is valid UTF-8 of less than 2 GiB, `language` a BCP 47 tag. Abbreviations that
// may end a sentence ("etc.") are left to the Unicode rules.
bool IsFalseSentenceBoundary(std::string_view text, size_t at, std::string_view language);

}  // namespace salient
