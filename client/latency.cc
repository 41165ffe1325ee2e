#include "client/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace salient {
namespace {

constexpr int kBits = 10;  // a power of two is cut into so many bits of buckets: 1 in 1,024
constexpr uint64_t kCut = uint64_t{1} << kBits;

// Microseconds to buckets: one each below kCut, then kCut of them for every doubling.
size_t BucketOf(uint64_t microseconds) {
  if (microseconds < kCut) return microseconds;
  const int shift = std::bit_width(microseconds) - 1 - kBits;
  return (static_cast<size_t>(shift) + 1) * kCut + ((microseconds >> shift) - kCut);
}

// The greatest latency of a bucket, in seconds.
double Greatest(size_t bucket) {
  if (bucket < kCut) return static_cast<double>(bucket) * 1e-6;
  const size_t shift = bucket / kCut - 1;
  const uint64_t least = (kCut + bucket % kCut) << shift;
  return static_cast<double>(least + (uint64_t{1} << shift) - 1) * 1e-6;
}

}  // namespace

void LatencyHistogram::Add(double seconds) {
  constexpr double kMost = 1e6;
  seconds = std::clamp(seconds, 0.0, kMost);
  const size_t bucket = BucketOf(static_cast<uint64_t>(seconds * 1e6));
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1, 0);
  ++buckets_[bucket];
  ++count_;
  sum_ += seconds;
  max_ = std::max(max_, seconds);
}

double LatencyHistogram::Percentile(double percent) const {
  const auto rank = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(percent / 100 * static_cast<double>(count_))));
  int64_t seen = 0;
  for (size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return std::min(Greatest(bucket), max_);
  }
  return max_;
}

}  // namespace salient
