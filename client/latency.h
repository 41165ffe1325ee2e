// Latencies in a histogram of high dynamic range: from a microsecond to hours, each told within a thousandth, in memory
// that does not grow with their number. (Log-linear buckets, as in HdrHistogram, which Debian has no C++ library of.)
//
// Not thread safe.

#pragma once

#include <cstdint>
#include <vector>

namespace salient {

class LatencyHistogram {
 public:
  void Add(double seconds);

  int64_t count() const { return count_; }
  double max() const { return max_; }  // 0 of none
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The least latency that so many of a hundred do not exceed; 0 of none. Never above max().
  double Percentile(double percent) const;

 private:
  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  double sum_ = 0, max_ = 0;
};

}  // namespace salient
