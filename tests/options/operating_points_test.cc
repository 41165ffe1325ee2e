#include "engine/options/operating_points.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/small_config.h"

namespace salient {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

json PointsJson() {
  return json::parse(R"({"points": [
    {"name": "best", "selection": {"policy": "dense"}, "depth": {"policy": "full"},
     "search": {"beam": 4, "length_penalty": 0.8, "max_length_ratio": 2.5, "n_best": 2, "prefix": "",
                "no_repeat": 3},
     "bleu": 30.5, "attention_cost_ratio": 1.0, "mean_exit": 4.0, "seconds_per_1000_tokens": 8.0},
    {"name": "balanced", "selection": {"policy": "mass", "value": 0.95, "encoder_value": 0.99, "decoder_value": 0.9,
                                       "cross_value": 0.8, "min_keys": 5},
     "depth": {"policy": "confidence", "thresholds": [0.8], "min_exit": 2, "max_exit": 3},
     "bleu": 30.1, "attention_cost_ratio": 0.1, "mean_exit": 2.5, "seconds_per_1000_tokens": 2.0},
    {"name": "fast", "selection": {"policy": "window", "value": 20}, "depth": {"policy": "fixed", "fixed_exit": 1},
     "bleu": 25, "attention_cost_ratio": 0.05, "mean_exit": 1, "seconds_per_1000_tokens": 0.5}]})");
}

std::vector<OperatingPoint> Points() { return ParseOperatingPoints(PointsJson().dump(), SmallConfig()).value(); }

std::string ErrorOf(const std::string& text) {
  const auto points = ParseOperatingPoints(text, SmallConfig());
  EXPECT_EQ(points.status().code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_THAT(std::string(points.status().message()), StartsWith("operating_points.json"));
  return std::string(points.status().message());
}

std::string ErrorWith(const std::string& pointer, const json& value) {
  json points = PointsJson();
  points[json::json_pointer(pointer)] = value;
  return ErrorOf(points.dump());
}

TEST(OperatingPointsTest, ReadsEveryField) {
  const std::vector<OperatingPoint> points = Points();
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].name, "best");
  EXPECT_EQ(points[0].options.selection.policy, SelectionPolicy::kDense);
  EXPECT_EQ(points[0].options.search.beam, 4);
  EXPECT_EQ(points[0].options.search.length_penalty, 0.8);
  EXPECT_EQ(points[0].options.search.max_length_ratio, 2.5);
  EXPECT_EQ(points[0].options.search.n_best, 2);
  EXPECT_EQ(points[0].options.search.no_repeat, 3);
  const SelectionOptions& selection = points[1].options.selection;
  EXPECT_EQ(selection.policy, SelectionPolicy::kMass);
  EXPECT_EQ(selection.value, 0.95);
  EXPECT_THAT(selection.module_value, ElementsAre(0.99, 0.9, 0.8));
  EXPECT_EQ(selection.min_keys, 5);
  const DepthOptions& depth = points[1].options.depth;
  EXPECT_EQ(depth.policy, DepthPolicy::kConfidence);
  EXPECT_THAT(depth.thresholds, ElementsAre(0.8));
  EXPECT_EQ(depth.min_exit, 2);
  EXPECT_EQ(depth.max_exit, 3);
  EXPECT_EQ(points[2].options.depth.fixed_exit, 1);
  EXPECT_EQ(points[1].bleu, 30.1);
  EXPECT_EQ(points[1].attention_cost_ratio, 0.1);
  EXPECT_EQ(points[1].mean_exit, 2.5);
  EXPECT_EQ(points[1].seconds_per_1000_tokens, 2.0);
}

TEST(OperatingPointsTest, NoPointsIsFine) {
  const auto points = ParseOperatingPoints(R"({"points": []})", SmallConfig());
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_THAT(*points, IsEmpty());
}

TEST(OperatingPointsTest, ErrorsNameThePoint) {
  EXPECT_EQ(ErrorWith("/points/1/bleu", "high"),
            "operating_points.json: points[1].bleu is \"high\"; it must be a number from 0 to 100");
  EXPECT_EQ(ErrorWith("/points/0/selection/policy", "sparse"),
            "operating_points.json: points[0].selection.policy is \"sparse\"; it must be one of dense, learned, ratio, "
            "mass, window");
  EXPECT_THAT(ErrorWith("/points/2/depth/fixed_exit", 1.5), HasSubstr("points[2].depth.fixed_exit is 1.5"));
  EXPECT_THAT(ErrorWith("/points/1/depth/thresholds", {"a"}), HasSubstr("points[1].depth.thresholds"));
  EXPECT_THAT(ErrorWith("/points/0/colour", "red"), HasSubstr("points[0].colour is not a field"));
  EXPECT_THAT(ErrorWith("/points/0/search/bean", 4), HasSubstr("points[0].search.bean is not a field"));
  EXPECT_THAT(ErrorWith("/points/0", 4), HasSubstr("points[0] is 4; it must be an object"));
  EXPECT_THAT(ErrorWith("/points/0/name", "with space"), HasSubstr("points[0].name"));
  EXPECT_THAT(ErrorWith("/points/1/name", "best"), HasSubstr("points[1].name is best, as is another's"));
}

TEST(OperatingPointsTest, PointsMustSuitTheModel) {
  EXPECT_EQ(ErrorWith("/points/1/selection/value", 2),
            "operating_points.json: points[1] (balanced): selection.value is 2; MASS needs a ratio in (0, 1]");
  EXPECT_THAT(ErrorWith("/points/2/depth/fixed_exit", 5), HasSubstr("points[2] (fast): depth.fixed_exit is 5"));
  json config = SmallConfigJson();
  config["exits"] = nullptr;
  const auto points = ParseOperatingPoints(PointsJson().dump(), SmallConfig(config));
  EXPECT_THAT(std::string(points.status().message()), HasSubstr("points[1] (balanced): depth.policy is CONFIDENCE"));
}

TEST(OperatingPointsTest, MeasurementsAreNeeded) {
  for (const char* name : {"name", "bleu", "attention_cost_ratio", "mean_exit", "seconds_per_1000_tokens"}) {
    json points = PointsJson();
    points["points"][2].erase(name);
    EXPECT_EQ(ErrorOf(points.dump()), std::string("operating_points.json: points[2].") + name + " is missing");
  }
}

TEST(OperatingPointsTest, TextThatHoldsNoPoints) {
  for (const char* text : {"", "[]", "{}", R"({"points": {}})", R"({"points": [[]]})", R"({"points": [], "x": 1})",
                           R"({"points": [], "points": []})"}) {
    ErrorOf(text);
  }
  const std::string whole = PointsJson().dump();
  for (size_t size = 0; size < whole.size(); ++size) ErrorOf(whole.substr(0, size));
}

TEST(OperatingPointsTest, FindsByName) {
  const std::vector<OperatingPoint> points = Points();
  const auto fast = FindOperatingPoint(points, "fast");
  ASSERT_TRUE(fast.ok());
  EXPECT_EQ((*fast)->bleu, 25);
  const auto none = FindOperatingPoint(points, "Fast");
  EXPECT_EQ(none.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(none.status().message(), "operating_point is Fast; this model has best, balanced, fast");
  EXPECT_THAT(std::string(FindOperatingPoint({}, "fast").status().message()), HasSubstr("has no measured points"));
}

double AsMeasured(double alone) { return alone; }

TEST(OperatingPointsTest, TheBestWithinTheTime) {
  const std::vector<OperatingPoint> points = Points();
  double factor = 1;
  const auto chosen = [&](double seconds, int64_t tokens) {
    return (*PointForLatency(points, seconds, tokens, [&](double alone) { return factor * alone; }))->name;
  };
  EXPECT_EQ(chosen(100, 1000), "best");
  EXPECT_EQ(chosen(8, 1000), "best");
  EXPECT_EQ(chosen(7.9, 1000), "balanced");
  EXPECT_EQ(chosen(7.9, 100), "best");
  EXPECT_EQ(chosen(1.9, 1000), "fast");
  EXPECT_EQ(chosen(0.1, 1000), "fast") << "the fastest where none is fast enough";
  EXPECT_EQ(chosen(0, 0), "best");
  EXPECT_EQ(PointForLatency({}, 1, 1, AsMeasured).status().code(), absl::StatusCode::kFailedPrecondition);
  factor = 3;
  EXPECT_EQ(chosen(8, 1000), "balanced") << "on a slower machine";
}

TEST(OperatingPointsTest, OfEquallyGoodPointsTheFaster) {
  std::vector<OperatingPoint> points = Points();
  points[1].bleu = points[0].bleu;
  EXPECT_EQ((*PointForLatency(points, 100, 1000, AsMeasured))->name, "balanced");
}

}  // namespace
}  // namespace salient
