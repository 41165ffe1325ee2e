// A histogram of latencies with a high dynamic range: from a microsecond to hours, with a relative error of at most a
// thousandth, in constant memory. (Log-linear buckets, as in HdrHistogram, for which Debian has no C++ library.)
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
  double max() const { return max_; }  // 0 if empty
  double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The percentile: the least latency that `percent` of a hundred do not exceed; 0 if empty. At most max().
  double Percentile(double percent) const;

 private:
  std::vector<int64_t> buckets_;
  int64_t count_ = 0;
  double sum_ = 0, max_ = 0;
};

}  // namespace salient
