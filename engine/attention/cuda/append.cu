// Writing keys and values, and selection keys, into the store's pages.

#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/quantise.h"
#include "engine/attention/quantise.h"
#include "engine/core/cuda/language.h"
#include "engine/core/cuda/pages.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 128;

__device__ void Store(float value, float* to) { *to = value; }
__device__ void Store(float value, uint16_t* to) { *to = BF16OfFloat(value); }

template <typename T>
__global__ void __launch_bounds__(kThreads) AppendKeyValueKernel(AppendKeyValueArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i), elements = 2 * pages.width;
  const float* from = args.key_value + static_cast<size_t>(i) * elements;
  T* to = pages.Key<T>(args.views[row].pages, args.positions[row]);
  for (auto c = static_cast<int32_t>(threadIdx.x); c < elements; c += kThreads) Store(from[c], to + c);
}

// A warp stores a head of K or V with its scale, then the next.
__global__ void __launch_bounds__(kThreads) AppendInt8Kernel(AppendKeyValueArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i), position = args.positions[row], head_width = pages.width / pages.heads;
  const auto lane = static_cast<int32_t>(threadIdx.x) % kWarp;
  const float* from = args.key_value + static_cast<size_t>(i) * 2 * pages.width;
  auto* to = pages.Key<int8_t>(args.views[row].pages, position);
  float* scales = pages.Scales(args.views[row].pages, position);
  for (auto head = static_cast<int32_t>(threadIdx.x) / kWarp; head < 2 * pages.heads; head += kThreads / kWarp) {
    const int32_t first = head * head_width;
    float largest = 0;
    for (int32_t c = lane; c < head_width; c += kWarp) largest = fmaxf(largest, fabsf(from[first + c]));
    largest = WarpMax(largest);
    const float factor = QuantisationFactor(largest);
    for (int32_t c = first + lane; c < first + head_width; c += kWarp) {
      to[c] = static_cast<int8_t>(Quantise(from[c], factor));
    }
    if (lane == 0) scales[head] = QuantisationStep(largest);
  }
}

// A thread quantises four components and stores their word.
__global__ void __launch_bounds__(kThreads) AppendSelectionKernel(AppendSelectionArgs args, PagesView pages) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i), width = pages.selection_width;
  const float* key = args.keys + static_cast<size_t>(i) * width;
  int32_t* stored = pages.SelectionKey(args.views[row].pages, args.positions[row]);
  for (auto word = static_cast<int32_t>(threadIdx.x); word < width / 4; word += kThreads) {
    stored[word * kSelectionBlock] = QuantiseWord(key + 4 * word, args.key_inverse_step);
  }
}

}  // namespace

void AppendKeyValue(Device& device, const AppendKeyValueArgs& args) {
  const LaunchShape shape = {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads};
  const PagesView pages(args.store, args.layer);
  switch (args.store.layout.type) {
    case ElementType::kF32:
      return Launch(device, shape, AppendKeyValueKernel<float>, args, pages);
    case ElementType::kBF16:
      return Launch(device, shape, AppendKeyValueKernel<uint16_t>, args, pages);
    case ElementType::kInt8:
      return Launch(device, shape, AppendInt8Kernel, args, pages);
  }
}

void AppendSelection(Device& device, const AppendSelectionArgs& args) {
  Launch(device, {.grid_x = static_cast<unsigned>(args.rows.capacity), .threads = kThreads}, AppendSelectionKernel,
         args, PagesView(args.store, 0, args.group));
}

}  // namespace salient::cuda
