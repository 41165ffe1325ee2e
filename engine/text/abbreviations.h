// Corrects what Unicode's sentence rules (UAX #29) cannot know: full stops that shorten a word, count, or quote.

#pragma once

#include <cstddef>
#include <string_view>

namespace salient {

// Whether the sentence boundary that was found before byte `at` of `text` is none:
//   - after a word that the language shortens and goes on from ("Dr. Smith", "z. B. Hunde", "No. 5");
//   - after a single letter ("J. S. Bach");
//   - after one or two digits, in languages whose ordinal numbers end in a full stop ("am 3. Oktober");
//   - after a closing quotation mark where a lower-case word follows ("'Really?' he asked").
// `text` is valid UTF-8 of less than 2 GiB, `language` a BCP 47 tag. A word that ends a sentence now and then ("etc.")
// is left to the Unicode rules.
bool IsFalseSentenceBoundary(std::string_view text, size_t at, std::string_view language);

}  // namespace salient
