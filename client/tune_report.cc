#include "client/tune_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/controls.h"
#include "client/report.h"
#include "google/protobuf/util/json_util.h"

namespace salient {
namespace {

bool Beats(const TuneRow& a, const TuneRow& b) {
  return a.seconds <= b.seconds && a.chrf >= b.chrf && (a.seconds < b.seconds || a.chrf > b.chrf);
}

const TuneRow& Only(const std::vector<TuneRow>& rows, bool TuneRow::*mark) {
  return *std::find_if(rows.begin(), rows.end(), [mark](const TuneRow& row) { return row.*mark; });
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::vector<TuneRow> Compare(std::vector<TuneRow> rows, double tolerance) {
  rows.front().is_baseline = true;
  const double seconds = rows.front().seconds;
  double best = 0;
  for (const TuneRow& row : rows) best = std::max(best, row.chrf);
  for (TuneRow& row : rows) {
    row.times_as_fast = row.seconds > 0 ? seconds / row.seconds : 0;
    row.chrf_lost = best - row.chrf;
    row.is_unbeaten = std::none_of(rows.begin(), rows.end(), [&](const TuneRow& other) { return Beats(other, row); });
  }
  std::stable_sort(rows.begin(), rows.end(), [](const TuneRow& a, const TuneRow& b) { return a.seconds < b.seconds; });
  std::find_if(rows.begin(), rows.end(), [&](const TuneRow& row) {
    return row.chrf_lost <= tolerance;
  })->is_recommended = true;
  return rows;
}

std::string TuneTable(const std::vector<TuneRow>& rows, double tolerance, bool has_references) {
  std::vector<std::vector<std::string>> table = {
      {"  setting", "s/1000 tokens", "times as fast", "attention", "mean exit", "chrF", "lost"}};
  for (const TuneRow& row : rows) {
    table.push_back({absl::StrCat(row.is_unbeaten ? "* " : "  ", FlagsOf(row.setting)),
                     absl::StrFormat("%.3f", row.seconds_per_1000_tokens), absl::StrFormat("%.2f", row.times_as_fast),
                     absl::StrFormat("%.1f %%", 100 * row.attention_cost_ratio), absl::StrFormat("%.2f", row.mean_exit),
                     absl::StrFormat("%.2f", row.chrf), absl::StrFormat("%.2f", row.chrf_lost)});
  }
  const std::string baseline = FlagsOf(Only(rows, &TuneRow::is_baseline).setting);
  const TuneRow& recommended = Only(rows, &TuneRow::is_recommended);
  std::string text = absl::StrCat(AlignColumns(table), "\nThe baseline is ", baseline,
                                  ". No other setting beats those ", "with * in time and in chrF.\n");
  if (!has_references) {
    absl::StrAppend(&text, "chrF compares with the baseline's own translation: it shows how much a setting changes, ",
                    "not which is better.\n");
  }
  const std::string speed =
      recommended.is_baseline ? "" : absl::StrFormat("%.2f times as fast as ", recommended.times_as_fast);
  absl::StrAppend(&text, "The fastest setting that loses at most ", tolerance, " chrF against the best is ", speed,
                  "the baseline: ", FlagsOf(recommended.setting), "\n");
  return text;
}

nlohmann::ordered_json TuneJson(const TuneRow& row, bool has_references) {
  std::string request;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  google::protobuf::util::MessageToJsonString(row.setting, &request, options);
  return {{"setting", FlagsOf(row.setting)},
          {"request", nlohmann::ordered_json::parse(request)},
          {"seconds", row.seconds},
          {"seconds_per_1000_tokens", row.seconds_per_1000_tokens},
          {"times_as_fast", row.times_as_fast},
          {"attention_cost_ratio", row.attention_cost_ratio},
          {"mean_exit", row.mean_exit},
          {"chrf", row.chrf},
          {"chrf_lost", row.chrf_lost},
          {"chrf_against", has_references ? "references" : "baseline"},
          {"baseline", row.is_baseline},
          {"unbeaten", row.is_unbeaten},
          {"recommended", row.is_recommended}};
}

}  // namespace salient
