#include "client/controls.h"

#include <string>

#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseSelectionTest, EveryPolicy) {
  EXPECT_EQ(ParseSelection("dense")->policy(), v1::SelectionControls::DENSE);
  EXPECT_FALSE(ParseSelection("dense")->has_value());
  EXPECT_EQ(ParseSelection("learned")->policy(), v1::SelectionControls::LEARNED);
  EXPECT_EQ(ParseSelection("ratio:0.05")->policy(), v1::SelectionControls::RATIO);
  EXPECT_EQ(ParseSelection("ratio:0.05")->value(), 0.05);
  EXPECT_EQ(ParseSelection("mass:0.95")->policy(), v1::SelectionControls::MASS);
  EXPECT_EQ(ParseSelection("window:20")->policy(), v1::SelectionControls::WINDOW);
  EXPECT_EQ(ParseSelection("window:20")->value(), 20);
  EXPECT_EQ(ParseSelection("Window:20")->value(), 20);
}

TEST(ParseSelectionTest, AValueAModule) {
  const auto controls = ParseSelection("ratio:0.1,0.02,0.05");
  ASSERT_TRUE(controls.ok());
  EXPECT_FALSE(controls->has_value());
  EXPECT_EQ(controls->encoder_value(), 0.1);
  EXPECT_EQ(controls->decoder_value(), 0.02);
  EXPECT_EQ(controls->cross_value(), 0.05);
}

// Out of range is the server's to say, which knows the model.
TEST(ParseSelectionTest, ValuesOutOfRangeAreLeftToTheServer) { EXPECT_EQ(ParseSelection("ratio:2")->value(), 2); }

TEST(ParseSelectionTest, Mistakes) {
  for (const char* text : {"", "sparse", "ratio", "ratio:", "ratio:x", "ratio:1,2", "ratio:1,2,3,4", "ratio:nan",
                           "ratio:0.1:2", "dense:1", "learned:0.5", "policy_unspecified", ":0.5", "ratio 0.5"}) {
    const auto controls = ParseSelection(text);
    EXPECT_EQ(controls.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(controls.status().message()), HasSubstr("--selection: '" + std::string(text) + "'"));
  }
}

TEST(ParseDepthTest, EveryPolicy) {
  EXPECT_EQ(ParseDepth("full")->policy(), v1::DepthControls::FULL);
  EXPECT_EQ(ParseDepth("fixed:3")->policy(), v1::DepthControls::FIXED);
  EXPECT_EQ(ParseDepth("fixed:3")->fixed_exit(), 3);
  EXPECT_EQ(ParseDepth("verify:2")->policy(), v1::DepthControls::VERIFY);
  EXPECT_EQ(ParseDepth("verify:2")->draft_exit(), 2);
  EXPECT_FALSE(ParseDepth("verify:2")->has_draft_tokens());
  EXPECT_EQ(ParseDepth("verify:1,8")->draft_tokens(), 8);
  EXPECT_EQ(ParseDepth("sequence")->policy(), v1::DepthControls::SEQUENCE);
  EXPECT_EQ(ParseDepth("multinomial")->policy(), v1::DepthControls::MULTINOMIAL);
  EXPECT_EQ(ParseDepth("geometric")->thresholds_size(), 0);
  EXPECT_THAT(ParseDepth("geometric:0.5")->thresholds(), ElementsAre(0.5));
  EXPECT_THAT(ParseDepth("confidence:0.9,0.8,0.7")->thresholds(), ElementsAre(0.9, 0.8, 0.7));
}

TEST(ParseDepthTest, Mistakes) {
  for (const char* text :
       {"", "early", "fixed", "fixed:2.5", "fixed:1,2", "fixed:1e9", "verify", "verify:1.5", "verify:1,2,3",
        "verify:1,2.5", "full:3", "sequence:0.5", "geometric:", "geometric:x", "confidence:0.9,"}) {
    const auto controls = ParseDepth(text);
    EXPECT_EQ(controls.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(controls.status().message()), HasSubstr("--exit: '" + std::string(text) + "'"));
  }
}

TEST(DescribeTest, ReadsBackAsItWasTyped) {
  for (const char* text : {"dense", "learned", "ratio:0.05", "mass:0.95", "window:20", "ratio:0.1,0.02,0.05"}) {
    EXPECT_EQ(Describe(*ParseSelection(text)), text);
  }
  for (const char* text : {"full", "fixed:3", "verify:2", "verify:2,8", "sequence", "multinomial", "geometric",
                           "geometric:0.5", "confidence:0.9,0.8,0.7"}) {
    EXPECT_EQ(Describe(*ParseDepth(text)), text);
  }
}

TEST(FlagsOfTest, WhatNoFlagSaysFollowsInJson) {
  v1::TranslateDocumentRequest request;
  EXPECT_EQ(FlagsOf(request), "no flags");
  request.mutable_memory()->set_repeats(true);
  EXPECT_EQ(FlagsOf(request), R"({"memory":{"repeats":true}})");
  request.mutable_depth()->set_policy(v1::DepthControls::GEOMETRIC);
  EXPECT_EQ(FlagsOf(request), R"(--exit geometric {"memory":{"repeats":true}})");
}

TEST(FlagsOfTest, QuotesForTheShell) {
  v1::TranslateDocumentRequest request;
  request.set_operating_point("it's fast");
  EXPECT_EQ(FlagsOf(request), R"(--operating-point 'it'\''s fast')");
}

}  // namespace
}  // namespace salient
