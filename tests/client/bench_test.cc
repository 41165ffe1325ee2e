#include "client/bench.h"

#include <algorithm>

#include "client/latency.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(LatencyHistogramTest, PercentilesWithinAThousandth) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(99), 0);
  for (int i = 1; i <= 10000; ++i) histogram.Add(i * 0.001);  // 1 ms to 10 s
  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const double expected = percent / 10;
    EXPECT_NEAR(histogram.Percentile(percent), expected, expected * 0.001) << percent;
  }
  EXPECT_EQ(histogram.Percentile(100), 10);
  EXPECT_EQ(histogram.max(), 10);
  EXPECT_NEAR(histogram.mean(), 5.0005, 1e-9);
  histogram.Add(1e9);  // more than it tells apart
  EXPECT_LE(histogram.Percentile(100), 1e6);
}

TEST(LatencyHistogramTest, SmallOnesAreExact) {
  LatencyHistogram histogram;
  histogram.Add(-1);
  histogram.Add(0.000007);
  EXPECT_EQ(histogram.Percentile(50), 0);
  EXPECT_NEAR(histogram.Percentile(100), 0.000007, 1e-12);
}

TEST(ArrivalsTest, ComeAtTheRate) {
  const std::vector<double> arrivals = Arrivals(100, 100, 100, 7);
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 10000, 400);  // four standard deviations
  EXPECT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  EXPECT_LE(arrivals.back(), 100);
  EXPECT_EQ(arrivals, Arrivals(100, 100, 100, 7));
  EXPECT_NE(arrivals, Arrivals(100, 100, 100, 8));
}

TEST(ArrivalsTest, ARampGoesUpOrDown) {
  for (const bool up : {true, false}) {
    const std::vector<double> arrivals = up ? Arrivals(10, 190, 100, 7) : Arrivals(190, 10, 100, 7);
    EXPECT_NEAR(static_cast<double>(arrivals.size()), 10000, 400);
    const auto middle = std::lower_bound(arrivals.begin(), arrivals.end(), 50.0);
    const auto first_half = static_cast<double>(middle - arrivals.begin());
    EXPECT_NEAR(first_half, up ? 2750 : 7250, 350);
  }
}

}  // namespace
}  // namespace salient
