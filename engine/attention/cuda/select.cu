// Selection on a CUDA device, one block a row (select_row.h).

#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/select_row.h"

namespace salient::cuda {
namespace {

__global__ void __launch_bounds__(kRowThreads, 3)
    SelectKernel(SelectArgs args, PagesView pages, const uint32_t* mass_table) {
  WaitForPrevious();
  __shared__ SelectShared shared;
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  const KeyView view = args.views[row];
  const SelectionRule rule = args.rules[row];
  KeyList& list = args.lists[row];
  if (NeedsScores(rule, view.length)) {
    const KeySearch search = {shared, reinterpret_cast<int32_t*>(DynamicShared()), pages, view, mass_table};
    const int32_t count =
        SelectRow(args, i, rule, search, [&](int32_t rank, int32_t position) { list.positions[rank] = position; });
    if (threadIdx.x == 0) list.count = count;
  } else {
    ListWindow(WindowOf(rule, view), view, list);
  }
  if (threadIdx.x == 0) TallyScores(args, rule, row);
}

}  // namespace

void Select(Device& device, const SelectArgs& args, const uint32_t* mass_table) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.rows.capacity),
          .threads = kRowThreads,
          .shared_bytes = kHeldScores * sizeof(int32_t)},
         SelectKernel, args, PagesView(args.store, 0, args.group), mass_table);
}

}  // namespace salient::cuda
