// The recurrence in double precision: the oracle.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "engine/recurrence/ssru.h"

namespace salient {

void SsruReference(const SsruArgs& args) {
  const int32_t width = args.store.layout.width;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const KeyView& view = args.views[row];
    const float* input = args.input + static_cast<size_t>(i) * 2 * width;
    const float* before =
        view.length < 2 ? nullptr : SsruState(args.store, args.layer, view.pages, view.Position(view.length - 2));
    float* after = SsruState(args.store, args.layer, view.pages, view.Position(view.length - 1));
    for (int32_t c = 0; c < width; ++c) {
      const double forget = 1 / (1 + std::exp(-static_cast<double>(input[width + c])));
      const double state = (before == nullptr ? 0 : forget * before[c]) + (1 - forget) * input[c];
      after[c] = static_cast<float>(state);
      args.states[static_cast<size_t>(row) * width + c] += static_cast<float>(std::max(state, 0.0));
    }
  }
}

}  // namespace salient
