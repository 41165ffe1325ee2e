// The signs by which the guard tells faults and estimates quality, as numbers.

#pragma once

#include <cstdint>
#include <string_view>

#include "engine/api/result.h"

namespace salient {

struct GuardSignals {
  int32_t source_tokens = 0, target_tokens = 0;
  bool length_limited = false;
  double log_probability = 0;  // of a token of the translation, its end included: the mean
  int32_t looped = 0;          // words of the longest loop, beyond that of the source
  double repeated = 0;         // share of its sequences of four words that stood before, beyond the source's
  int32_t numbers_missing = 0, numbers_added = 0;
  int32_t digits_missing = 0;  // of the numbers missing those of a single digit
  int32_t literals_missing = 0;
  int32_t copied = 0;          // words
  double copied_share = 0;     // of the translation's
  int32_t gap = -1;            // source words in a row that nothing was made of; -1: no alignment
  bool other_language = false;
};

// `target_language`: a BCP 47 tag; if empty, the language is not looked at.
GuardSignals SignalsOf(const TranslatedSegment& segment, std::string_view target_language = "");

// Target tokens over source tokens, both with a few more, since short segments vary more.
double LengthRatio(const GuardSignals& signals);

}  // namespace salient
