// Moves and means of whole rows: plain copies that every host-addressable backend shares.

#include <algorithm>
#include <vector>

#include "engine/norm/norm.h"

namespace salient {

void GatherRows(const GatherRowsArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const float* row = args.input + static_cast<size_t>(args.rows[i]) * args.width;
    float* out = args.output + static_cast<size_t>(i) * args.width;
    if (row != out) std::copy_n(row, args.width, out);
  }
}

void MeanRows(const MeanRowsArgs& args) {
  std::vector<double> sum(args.width, 0.0);
  for (int32_t i = 0; i < args.rows; ++i) {
    for (int32_t c = 0; c < args.width; ++c) sum[c] += args.input[static_cast<size_t>(i) * args.width + c];
  }
  for (int32_t c = 0; c < args.width; ++c) args.output[c] = static_cast<float>(sum[c] / args.rows);
}

}  // namespace salient
