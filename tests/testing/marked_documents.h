// Documents with markers (SpecialTokens) for tests of the search, and the check that a translation has kept them.

#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/engine.h"

namespace salient::testing {

// The numbers of the markers that a text spells, in their order.
inline std::vector<int> MarkersOf(const std::string& text) {
  static const std::string kBegin = "\u27e6", kEnd = "\u27e7";
  std::vector<int> numbers;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
    const size_t from = at + kBegin.size(), end = text.find(kEnd, from);
    int number = 0;
    if (end != std::string::npos && absl::SimpleAtoi(text.substr(from, end - from), &number)) numbers.push_back(number);
  }
  return numbers;
}

// A line for each segment, most of them with pairs, within each other at times, and markers by themselves.
inline std::string MarkedLines(std::mt19937& random, int lines) {
  const auto marker = [](int number) { return absl::StrCat("\u27e6", number, "\u27e7"); };
  std::string text;
  for (int i = 0; i < lines; ++i) {
    std::vector<int> free(16);
    for (int k = 0; k < 16; ++k) free[k] = 2 * k;
    std::shuffle(free.begin(), free.end(), random);
    std::vector<std::string> words = {"The", "old", "house", "stands", "at", "the", "river."};
    for (uint32_t pairs = random() % 4; pairs > 0; --pairs) {
      const size_t begin = random() % words.size(), end = begin + random() % (words.size() - begin);
      words[begin] = marker(free.back()) + words[begin];
      words[end] += marker(free.back() + 1);
      free.pop_back();
    }
    for (uint32_t singles = random() % 4; singles > 0; --singles) {
      words.insert(words.begin() + random() % words.size(), marker(free.back() + random() % 2));
      free.pop_back();
    }
    for (const std::string& word : words) absl::StrAppend(&text, word, " ");
    text.back() = '\n';
  }
  return text;
}

// Empty if every marker of `source` is in `text` once, no other is, and pairs are nested properly; else what is wrong.
inline std::string WrongMarkers(const std::string& source, const std::string& text) {
  const std::vector<int> said = MarkersOf(text);
  std::vector<int> wanted = MarkersOf(source), open, sorted = said;
  std::sort(wanted.begin(), wanted.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted != wanted) return absl::StrCat("markers differ: ", source, " -> ", text);
  for (const int number : said) {
    if (!std::binary_search(wanted.begin(), wanted.end(), number ^ 1)) continue;  // no pair
    if (number % 2 == 0) {
      open.push_back(number);
    } else if (open.empty() || open.back() != number - 1) {
      return absl::StrCat("not nested: ", source, " -> ", text);
    } else {
      open.pop_back();
    }
  }
  return "";
}

// The markers of every segment, under every setting, drafts among them; counts the markers.
inline std::string WrongMarkersUnderEverySetting(Engine& engine, std::vector<TranslationOptions> settings, int* markers,
                                                 int lines = 6) {
  std::mt19937 random(11);
  TranslationOptions verify;
  verify.depth = {.policy = DepthPolicy::kVerify, .draft_exit = 1, .draft_tokens = 3};
  TranslationOptions short_ones;  // the bound is reached with markers left
  short_ones.search.max_length_ratio = 0.01;
  settings.push_back(verify);
  settings.push_back(short_ones);
  for (size_t i = 0; i < settings.size(); ++i) {
    const absl::StatusOr<TranslationResult> result = engine.Translate(
        {.text = MarkedLines(random, lines), .segmentation = Segmentation::kLines, .options = settings[i]});
    if (!result.ok()) return result.status().ToString();
    for (const TranslatedSegment& segment : result->segments) {
      const std::string wrong = WrongMarkers(segment.source, segment.text);
      if (!wrong.empty()) return absl::StrCat("setting ", i, ": ", wrong);
      *markers += static_cast<int>(MarkersOf(segment.text).size());
    }
  }
  // Who has none gets none.
  const absl::StatusOr<TranslationResult> plain = engine.Translate({.text = "The train leaves at seven."});
  if (!plain.ok()) return plain.status().ToString();
  return MarkersOf(plain->text).empty() ? "" : absl::StrCat("invented: ", plain->text);
}

}  // namespace salient::testing
