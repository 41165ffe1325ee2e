#include "documents/guard/signals.h"

#include <algorithm>

#include "documents/guard/detectors.h"

namespace salient {

GuardSignals SignalsOf(const TranslatedSegment& segment, std::string_view target_language) {
  const std::vector<GuardWord> source = GuardWords(segment.source), target = GuardWords(segment.text);
  const Repetition of_source = RepetitionOf(source), of_target = RepetitionOf(target);
  const NumberDifference numbers = CompareNumbers(segment.source, segment.text);
  const Copied copied = CopiedWords(source, target);
  return {.source_tokens = segment.source_tokens,
          .target_tokens = segment.target_tokens,
          .length_limited = segment.length_limited,
          .log_probability = segment.score / (segment.target_tokens + 1),
          .looped = std::max(0, of_target.looped - of_source.looped),
          .repeated = std::max(0.0, of_target.share - of_source.share),
          .numbers_missing = numbers.missing,
          .numbers_added = numbers.added,
          .digits_missing = numbers.missing_digits,
          .literals_missing = MissingLiterals(segment.source, segment.text),
          .copied = copied.words,
          .copied_share = copied.share,
          .gap = LongestGap(segment.source, source, segment.alignment),
          .other_language = IsInOtherLanguage(target, target_language)};
}

double LengthRatio(const GuardSignals& signals) {
  constexpr int32_t kFewTokens = 6;
  return static_cast<double>(signals.target_tokens + kFewTokens) / (signals.source_tokens + kFewTokens);
}

}  // namespace salient
