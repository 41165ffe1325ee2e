#include "client/tune_report.h"

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The beam tells the rows apart.
TuneRow Row(int beam, double seconds, double chrf) {
  TuneRow row{.seconds = seconds, .seconds_per_1000_tokens = seconds / 2, .chrf = chrf};
  row.setting.mutable_search()->set_beam(beam);
  return row;
}

std::vector<int> Beams(const std::vector<TuneRow>& rows, bool TuneRow::*mark) {
  std::vector<int> beams;
  for (const TuneRow& row : rows) {
    if (row.*mark) beams.push_back(row.setting.search().beam());
  }
  return beams;
}

TEST(MedianTest, OddAndEven) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({9, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 9, 2}), 3);
}

TEST(CompareTest, ByTimeAgainstTheFirst) {
  const std::vector<TuneRow> rows = Compare({Row(1, 4, 60), Row(2, 2, 59), Row(3, 8, 62)}, 0);
  ASSERT_EQ(rows.size(), 3);
  EXPECT_THAT(Beams(rows, &TuneRow::is_unbeaten), ElementsAre(2, 1, 3));
  EXPECT_THAT(Beams(rows, &TuneRow::is_baseline), ElementsAre(1));
  EXPECT_EQ(rows[0].times_as_fast, 2);
  EXPECT_EQ(rows[1].times_as_fast, 1);
  EXPECT_EQ(rows[2].times_as_fast, 0.5);
  EXPECT_EQ(rows[0].chrf_lost, 3);
  EXPECT_EQ(rows[2].chrf_lost, 0);
}

TEST(CompareTest, WhatAnotherBeatsHasNoMark) {
  EXPECT_THAT(Beams(Compare({Row(1, 4, 60), Row(2, 3, 60), Row(3, 3, 59), Row(4, 5, 61)}, 0), &TuneRow::is_unbeaten),
              ElementsAre(2, 4));
  // Equal rows do not beat each other.
  EXPECT_THAT(Beams(Compare({Row(1, 3, 60), Row(2, 3, 60)}, 0), &TuneRow::is_unbeaten), ElementsAre(1, 2));
}

TEST(CompareTest, TheFastestWithinTheToleranceIsRecommended) {
  const std::vector<TuneRow> rows = {Row(1, 4, 60), Row(2, 2, 59.5), Row(3, 1, 58)};
  EXPECT_THAT(Beams(Compare(rows, 0.4), &TuneRow::is_recommended), ElementsAre(1));
  EXPECT_THAT(Beams(Compare(rows, 0.5), &TuneRow::is_recommended), ElementsAre(2));
  EXPECT_THAT(Beams(Compare(rows, 100), &TuneRow::is_recommended), ElementsAre(3));
}

TEST(CompareTest, NothingWasTranslated) {
  const std::vector<TuneRow> rows = Compare({Row(1, 0, 0)}, 0);
  EXPECT_EQ(rows[0].times_as_fast, 0);
  EXPECT_TRUE(rows[0].is_recommended);
}

TEST(TuneTableTest, RowsAndTheRecommendation) {
  const std::vector<TuneRow> rows = Compare({Row(1, 4, 60), Row(2, 2, 59.75), Row(3, 5, 59)}, 0.5);
  const std::string table = TuneTable(rows, 0.5, /*has_references=*/true);
  EXPECT_THAT(table, HasSubstr("* --beam 2          1.000           2.00      0.0 %       0.00  59.75  0.25\n"));
  EXPECT_THAT(table, HasSubstr("\n  --beam 3 "));
  EXPECT_THAT(table, HasSubstr("\nThe baseline is --beam 1. "));
  EXPECT_THAT(table, HasSubstr("\nThe fastest setting that loses at most 0.5 chrF against the best is 2.00 times as "
                               "fast as the baseline: --beam 2\n"));
  EXPECT_THAT(table, Not(HasSubstr("which is better")));
  EXPECT_THAT(TuneTable(rows, 0.5, false), HasSubstr("not which is better"));
  EXPECT_THAT(TuneTable(Compare({Row(1, 4, 60), Row(2, 3, 59)}, 0), 0, true),
              HasSubstr("loses at most 0 chrF against the best is the baseline: --beam 1\n"));
}

TEST(TuneJsonTest, TheRequestCanBeSent) {
  const nlohmann::ordered_json json = TuneJson(Compare({Row(4, 2, 60)}, 0)[0], /*has_references=*/false);
  EXPECT_EQ(json["setting"], "--beam 4");
  EXPECT_EQ(json["request"].dump(), R"({"search":{"beam":4}})");
  EXPECT_EQ(json["seconds"], 2);
  EXPECT_EQ(json["chrf_against"], "baseline");
  EXPECT_EQ(json["recommended"], true);
}

}  // namespace
}  // namespace salient
