// The guard's detectors: each looks for one sign of a faulty translation. Pure functions of a segment's source and its
// translation; bounds on what they return are in check.h.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "documents/guard/words.h"
#include "engine/api/result.h"

namespace salient {

// How much of a text repeats itself.
struct Repetition {
  // Words of the longest stretch that only says again what stands directly before it ("no no no": 2; "a b a b": 2).
  // A stretch repeats a sequence of words as a whole at least once.
  int32_t looped = 0;
  double share = 0;  // of its sequences of four words those that stood before
};
Repetition RepetitionOf(const std::vector<GuardWord>& words);

// Numbers by their digits alone ("1,234.5" is "12345"), so that decimal points, grouping and the script may change.
struct NumberDifference {
  int32_t missing = 0;         // of the source's those that the translation lacks, as often as the source has them
  int32_t added = 0;           // of the translation's those that the source lacks
  int32_t missing_digits = 0;  // of those missing, the ones of a single digit, which may be said in words
};
NumberDifference CompareNumbers(std::string_view source, std::string_view translation);

// How many of the source's literals the translation lacks: addresses, identifiers (snake_case, camelCase, letters with
// digits), and markers that are spelled. Of very many the first thousand are looked for.
int32_t MissingLiterals(std::string_view source, std::string_view translation);

// Which words the translation has from its source as they are.
struct Copied {
  int32_t words = 0;  // that are no names, and four letters long or ideographs
  double share = 0;   // of all such words of the translation
};
Copied CopiedWords(const std::vector<GuardWord>& source, const std::vector<GuardWord>& translation);

// The greatest number of the source's words, one after another, that no token of the translation was made of. Numbers
// and punctuation between words are passed over. `links` as the engine aligns tokens; -1 without links.
int32_t LongestGap(std::string_view source, const std::vector<GuardWord>& words, const std::vector<TokenLink>& links);

// Whether CLD2 is sure that the plain words of a translation are in another language. Fewer than eight are not looked
// at, and languages that it confuses are taken for one (Czech and Slovak, Danish and Norwegian, Portuguese and Galician
// and others). `target_language`: a BCP 47 tag; if empty, false.
bool IsInOtherLanguage(const std::vector<GuardWord>& words, std::string_view target_language);

}  // namespace salient
