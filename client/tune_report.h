// Compares measured settings, and reports the comparison.

#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "salient/v1/translation.pb.h"

namespace salient {

struct TuneRow {
  v1::TranslateDocumentRequest setting;
  double seconds = 0;  // of all documents
  double seconds_per_1000_tokens = 0;
  double attention_cost_ratio = 0, mean_exit = 0;
  double chrf = 0;

  // Filled by Compare.
  double times_as_fast = 0;  // the baseline's seconds, divided by these
  double chrf_lost = 0;      // against the best row
  bool is_baseline = false;
  bool is_unbeaten = false;  // no other row is at least as fast and as good, and better in one of the two
  bool is_recommended = false;
};

// The middle one, or the mean of the two in the middle. There is at least one.
double Median(std::vector<double> values);

// The first row is the baseline. Sorts the rows by time, and recommends the fastest one that loses at most `tolerance`.
std::vector<TuneRow> Compare(std::vector<TuneRow> rows, double tolerance);

// The rows of Compare, then the recommendation in a sentence.
std::string TuneTable(const std::vector<TuneRow>& rows, double tolerance, bool has_references);
nlohmann::ordered_json TuneJson(const TuneRow& row, bool has_references);

}  // namespace salient
