// Random documents and settings from a seed, for tests that compare two translations of the same document.

#pragma once

#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace salient::testing {

// `sentences` sentences in paragraphs, of words that a tiny tokeniser splits in uneven ways.
inline std::string RandomDocument(std::mt19937& random, int sentences) {
  static const std::vector<std::string> kWords = {"house",  "river", "the",   "old",   "window", "birds", "Straße",
                                                  "cold",   "water", "years", "train", "seven",  "né",    "answer",
                                                  "garden", "dark",  "a",     "of",    "lake",   "42",    "letters"};
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    if (i > 0) text += random() % 4 == 0 ? "\n\n" : " ";
    text += "The";
    for (uint32_t w = 0; w < 2 + random() % 9; ++w) text += " " + kWords[random() % kWords.size()];
    text += ".";
  }
  return text;
}

// Eight ways to translate, all policies among them.
inline std::vector<TranslationOptions> EightSettings() {
  std::vector<TranslationOptions> settings(8);
  settings[0].selection.policy = SelectionPolicy::kDense;
  settings[1].selection.policy = SelectionPolicy::kLearned;
  settings[2].selection = {.policy = SelectionPolicy::kRatio, .value = 0.2, .min_keys = 2};
  settings[2].depth = {.policy = DepthPolicy::kFixed, .fixed_exit = 2};
  settings[3].selection = {.policy = SelectionPolicy::kMass, .value = 0.8, .min_keys = 1};
  settings[3].depth.policy = DepthPolicy::kSequence;
  settings[4].selection = {.policy = SelectionPolicy::kWindow, .value = 7};
  settings[4].depth.policy = DepthPolicy::kMultinomial;
  settings[5].depth = {.policy = DepthPolicy::kGeometric, .thresholds = {0.5}};
  settings[6].depth = {.policy = DepthPolicy::kConfidence, .thresholds = {0.3}, .min_exit = 1};
  settings[6].search.beam = 3;
  settings[6].search.n_best = 2;
  settings[7].selection = {.policy = SelectionPolicy::kRatio, .value = 0.3};
  settings[7].depth = {.policy = DepthPolicy::kGeometric, .thresholds = {0.4}, .max_exit = 2};
  settings[7].search = {.beam = 2, .length_penalty = 0.5};
  for (const int listed : {1, 5, 6}) settings[listed].search.shortlist = true;
  for (TranslationOptions& options : settings) options.search.max_length_ratio = 1.0;
  return settings;
}

// How often `text` has `part`, without overlaps.
inline int Occurrences(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace salient::testing
