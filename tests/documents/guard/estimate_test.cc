#include "documents/guard/estimate.h"

#include <cmath>
#include <filesystem>

#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

GuardSignals Sure(double probability) { return {.log_probability = std::log(probability)}; }

TEST(EstimateTest, FollowsTheModelsProbabilityAsCalibrated) {
  EXPECT_NEAR(EstimateQuality(Sure(0.5)), 50, 1e-9);
  const GuardCalibration calibration{.quality_offset = 20, .quality_scale = 60};
  EXPECT_NEAR(EstimateQuality(Sure(0.5), calibration), 50, 1e-9);
  EXPECT_NEAR(EstimateQuality(Sure(1), calibration), 80, 1e-9);
  EXPECT_EQ(EstimateQuality(Sure(1), {.quality_offset = 90, .quality_scale = 60}), 100);
}

TEST(EstimateTest, WhatIsRepeatedOrCopiedCountsForNothing) {
  GuardSignals signals = Sure(0.9);
  signals.repeated = 0.5;
  EXPECT_NEAR(EstimateQuality(signals), 45, 1e-9);
  signals.copied = 8;
  signals.copied_share = 1;
  EXPECT_EQ(EstimateQuality(signals), 0);
  signals = Sure(0.9);
  signals.copied = 1;  // one word that both languages have
  signals.copied_share = 1;
  EXPECT_NEAR(EstimateQuality(signals), 90, 1e-9);
}

TEST(CalibrationTest, WhatIsNotSaidHasADefault) {
  const auto calibration = ParseGuardCalibration(R"({"quality": {"offset": 12.5}, "length": {"longest": 3}})");
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->quality_offset, 12.5);
  EXPECT_EQ(calibration->longest, 3);
  EXPECT_EQ(calibration->quality_scale, GuardCalibration{}.quality_scale);
  EXPECT_EQ(calibration->shortest, GuardCalibration{}.shortest);
}

TEST(CalibrationTest, ErrorsNameTheField) {
  const auto error = [](const char* json) { return std::string(ParseGuardCalibration(json).status().message()); };
  EXPECT_THAT(error("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(error(R"({"quality": 1})"), HasSubstr("quality is no object"));
  EXPECT_THAT(error(R"({"quality": {"scale": "x"}})"), HasSubstr("quality.scale must be a number from 0 to 1000"));
  EXPECT_THAT(error(R"({"length": {"shortest": 2}})"), HasSubstr("length.shortest must be a number from 0 to 1"));
}

TEST(CalibrationTest, AFolderWithoutTheFileHasTheDefaults) {
  const auto calibration = ReadGuardCalibration("/nowhere");
  ASSERT_TRUE(calibration.ok());
  EXPECT_EQ(calibration->longest, GuardCalibration{}.longest);
}

TEST(CalibrationTest, AFileThatCannotBeOpenedIsAnError) {
  const TempFolder folder;
  std::filesystem::create_symlink("guard.json", folder / "guard.json");  // to itself
  EXPECT_THAT(ReadGuardCalibration(folder.path()).status().message(), HasSubstr("guard.json cannot be read: "));
}

}  // namespace
}  // namespace salient
