#include "client/settings.h"

#include "client/controls.h"
#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> FlagsOfAll(const v1::Model& model) {
  std::vector<std::string> flags;
  for (const v1::TranslateDocumentRequest& setting : SettingsOf(model)) flags.push_back(FlagsOf(setting));
  return flags;
}

v1::Model Plain() {
  v1::Model model;
  model.set_decoder_layers(6);
  model.add_exits(6);
  model.add_selection_policies(v1::SelectionControls::DENSE);
  model.add_depth_policies(v1::DepthControls::FULL);
  model.add_depth_policies(v1::DepthControls::FIXED);
  return model;
}

v1::Model Adaptive() {
  v1::Model model = Plain();
  model.add_selection_policies(v1::SelectionControls::LEARNED);
  model.add_depth_policies(v1::DepthControls::GEOMETRIC);
  model.add_depth_policies(v1::DepthControls::CONFIDENCE);
  model.clear_exits();
  for (int exit = 1; exit <= 6; ++exit) model.add_exits(exit);
  model.set_has_shortlist(true);
  return model;
}

TEST(SettingsOfTest, WhatTheModelIsTrainedFor) {
  EXPECT_THAT(
      FlagsOfAll(Adaptive()),
      ElementsAre("--selection dense --exit full", "--selection learned --exit full",
                  "--selection dense --exit fixed:3", "--selection learned --exit fixed:3",
                  "--selection learned --exit geometric", "--selection learned --exit confidence",
                  "--selection learned --exit geometric --shortlist", "--selection dense --exit full --beam 4"));
}

TEST(SettingsOfTest, AModelWithoutSelectionAndExits) {
  v1::Model model = Plain();
  EXPECT_THAT(FlagsOfAll(model),
              ElementsAre("--selection dense --exit full", "--selection dense --exit full --beam 4"));
  model.set_has_shortlist(true);
  EXPECT_THAT(FlagsOfAll(model),
              ElementsAre("--selection dense --exit full", "--selection dense --exit full --shortlist",
                          "--selection dense --exit full --beam 4"));
}

TEST(SettingsOfTest, AModelWithExitsOnlySavesLayers) {
  v1::Model model = Adaptive();
  model.clear_selection_policies();
  model.clear_has_shortlist();
  EXPECT_THAT(FlagsOfAll(model),
              ElementsAre("--selection dense --exit full", "--selection dense --exit fixed:3",
                          "--selection dense --exit geometric", "--selection dense --exit confidence",
                          "--selection dense --exit full --beam 4"));
}

TEST(SettingsOfTest, OperatingPointsStandForWhatTheyAre) {
  v1::Model model = Plain();
  const auto add = [&model](const char* name, int beam) {
    v1::OperatingPoint* point = model.add_operating_points();
    point->set_name(name);
    point->mutable_selection()->set_policy(v1::SelectionControls::DENSE);
    point->mutable_depth()->set_policy(v1::DepthControls::FULL);
    point->mutable_search()->set_beam(beam);
  };
  add("fast", 1);  // the baseline
  add("best", 4);
  add("better", 2);
  EXPECT_THAT(FlagsOfAll(model),
              ElementsAre("--selection dense --exit full", "--operating-point best", "--operating-point better"));
}

TEST(SettingsOfTest, HalfOfAnOddNumberOfLayersIsRoundedUp) {
  v1::Model model = Adaptive();
  model.set_decoder_layers(3);
  EXPECT_THAT(FlagsOfAll(model), ::testing::Contains("--selection dense --exit fixed:2"));
  model.set_decoder_layers(1);
  EXPECT_THAT(FlagsOfAll(model), ::testing::Not(::testing::Contains(HasSubstr("fixed"))));
}

TEST(ReadSettingsTest, OneALine) {
  const TempFolder folder;
  WriteFile(folder / "s", "{\"depth\": {\"policy\": \"GEOMETRIC\"}}\n\n \n{\"search\": {\"beam\": 2}}");
  const auto settings = ReadSettings(folder / "s");
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->size(), 2);
  EXPECT_EQ((*settings)[0].depth().policy(), v1::DepthControls::GEOMETRIC);
  EXPECT_EQ((*settings)[1].search().beam(), 2);
}

TEST(ReadSettingsTest, MistakesNameTheLine) {
  const TempFolder folder;
  WriteFile(folder / "s", "{}\n\n{\"depht\": 1}\n");
  EXPECT_THAT(std::string(ReadSettings(folder / "s").status().message()),
              HasSubstr("/s, line 3: not a TranslateDocumentRequest in JSON: "));
  EXPECT_THAT(std::string(ReadSettings(folder / "none").status().message()), HasSubstr("none cannot be read"));
}

}  // namespace
}  // namespace salient
