// What the guard says of translations that need not be a model's: to calibrate it, and to measure its precision and
// recall (training/salient/evaluation/guard.py).
//
//   guard_signals < segments.jsonl
//
// Each line is an object with `source`, `text`, `source_tokens`, `target_tokens`, and perhaps `target_language`, `score`,
// `length_limited` and `alignment` (a list of [source_begin, source_end, target_begin, target_end]), as TranslatedSegment has them. For
// each a line is printed with the signs by name, `faults`, and `quality`.

#include <iostream>
#include <string>
#include <vector>

#include "documents/guard/check.h"
#include "documents/guard/estimate.h"
#include "nlohmann/json.hpp"

namespace salient {
namespace {

TranslatedSegment Read(const nlohmann::json& line) {
  TranslatedSegment segment;
  segment.source = line.at("source");
  segment.text = line.at("text");
  segment.source_tokens = line.at("source_tokens");
  segment.target_tokens = line.at("target_tokens");
  segment.score = line.value("score", 0.0);
  segment.length_limited = line.value("length_limited", false);
  for (const auto& link : line.value("alignment", std::vector<std::vector<int32_t>>())) {
    segment.alignment.push_back({link.at(0), link.at(1), link.at(2), link.at(3)});
  }
  return segment;
}

nlohmann::json Describe(const TranslatedSegment& segment, const std::string& target_language) {
  const GuardSignals signals = SignalsOf(segment, target_language);
  std::vector<std::string> faults;
  for (const Fault fault : FaultsIn(signals)) faults.emplace_back(FaultName(fault));
  return {{"source_tokens", signals.source_tokens},
          {"target_tokens", signals.target_tokens},
          {"length_limited", signals.length_limited},
          {"log_probability", signals.log_probability},
          {"looped", signals.looped},
          {"repeated", signals.repeated},
          {"numbers_missing", signals.numbers_missing},
          {"numbers_added", signals.numbers_added},
          {"digits_missing", signals.digits_missing},
          {"literals_missing", signals.literals_missing},
          {"copied", signals.copied},
          {"copied_share", signals.copied_share},
          {"gap", signals.gap},
          {"other_language", signals.other_language},
          {"faults", faults},
          {"quality", EstimateQuality(signals)}};
}

}  // namespace
}  // namespace salient

int main() {
  std::ios::sync_with_stdio(false);
  int64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    try {
      const nlohmann::json object = nlohmann::json::parse(line);
      std::cout << salient::Describe(salient::Read(object), object.value("target_language", "")).dump() << "\n";
    } catch (const nlohmann::json::exception& error) {
      std::cerr << "guard_signals: line " << number << ": " << error.what() << "\n";
      return 1;
    }
  }
  return 0;
}
