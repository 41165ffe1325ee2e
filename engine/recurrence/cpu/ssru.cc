// Recurrences on the CPU: rows divided among the threads.

#include "engine/recurrence/ssru.h"

#include "engine/base/parallel.h"
#include "engine/recurrence/cpu/kernels.h"
#include "engine/recurrence/cpu/operations.h"

namespace salient {

void SsruCpu(const SsruArgs& args, ThreadPool& pool) {
  const RecurrenceKernels& kernels = RecurrenceKernelsFor(DetectCpuIsa());
  const int64_t width = args.store.layout.width;
  ParallelRanges(pool, args.rows.size(), width * 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = args.rows[static_cast<int32_t>(i)];
      const KeyView& view = args.views[row];
      const auto state_at = [&](int32_t index) {
        return SsruState(args.store, args.layer, view.pages, view.Position(index));
      };
      kernels.ssru(args.input + i * 2 * width, view.length < 2 ? nullptr : state_at(view.length - 2),
                   static_cast<int32_t>(width), state_at(view.length - 1), args.states + row * width);
    }
  });
}

}  // namespace salient
