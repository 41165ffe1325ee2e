// The recurrence: a block a row, a thread every kThreads-th component.

#include "engine/core/cuda/language.h"
#include "engine/core/cuda/pages.h"
#include "engine/recurrence/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads) SsruKernel(SsruArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i), width = pages.width;
  const KeyView view = args.views[row];
  const auto position = [&](int32_t index) { return view.candidates == nullptr ? index : view.candidates[index]; };
  const float* input = args.input + static_cast<size_t>(i) * 2 * width;
  const float* before = view.length < 2 ? nullptr : pages.Key<float>(view.pages, position(view.length - 2));
  float* after = pages.Key<float>(view.pages, position(view.length - 1));
  float* output = args.states + static_cast<size_t>(row) * width;
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) {
    const float forget = 1.0f / (1.0f + expf(-input[width + c]));
    const float kept = before == nullptr ? 0.0f : forget * before[c];
    const float state = kept + (1.0f - forget) * input[c];
    after[c] = state;
    output[c] += state < 0 ? 0.0f : state;
  }
}

}  // namespace

void Ssru(Device& device, const SsruArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, SsruKernel, args,
         PagesView(args.store, args.layer));
}

}  // namespace salient::cuda
