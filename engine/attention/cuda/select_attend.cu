// Selection and attention of a step's rows in one kernel: a block chooses a row's keys and reads them at once.
//
// Scores, top-k and list are select_row.h's, the arithmetic of attention attend_row.h's: the results are those of
// SelectKernel and AttendRowsKernel to the bit, the list and the tallies, too. What is chosen goes from one phase to
// the other through shared memory, as slots of the store: when the last key is listed, the copies of the first rows
// start without another look at list or page table.
//
// When it is taken. The two kernels split a row's keys over up to 32 blocks, which wins where there are few rows. One
// block has up to 64 KB of rows under way (width 512, bf16), and memory is busy while bandwidth times latency is: 3.35
// TB/s * 0.8 us = 2.7 MB on an H100 of 132 multiprocessors, 42 blocks' worth; 1.6 TB/s * 0.7 us = 1.1 MB, 18 blocks',
// on an A100 of 108. So from a third of the multiprocessors on, blocks that work on a row each can read as fast as
// memory gives, in one wave of at most two blocks a multiprocessor up to 264 rows, and what is left is what fusing
// saves: at 64 documents of 2,048 tokens and 5 % a call reads 8.4 MB of selection keys and 13.4 MB of rows, 2.5 + 4.0
// us at full bandwidth, and a launch costs about 2 us even where launches overlap, because a kernel's end and the next
// one's beginning read nothing. The choice follows from the step's capacity and the device alone, and changes no bit.
// That was reckoned. Measured on an H200, the two kernels are faster from 64 rows on (docs/gpu.md), so it may go.
//
// Blocks a row. With fewer rows than multiprocessors those left over help: `helpers` blocks choose the same keys each
// for themselves, which costs nobody anything, since the second reading of a selection key finds it in the second-level
// cache, and take the splits in turns. A row that reads its keys without choosing, dense or by a window, needs no
// selection, so more blocks are launched for it, four a multiprocessor over all rows; they end at once where rows
// choose, and on multiprocessors where they find room beside the others. So a dense row of 8,192 keys (16.8 MB) among
// 63 sparse ones is read by 8 blocks in about 30 us, and not by one in 200.

#include <algorithm>

#include "engine/attention/cuda/gather.h"
#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/select_row.h"

namespace salient::cuda {
namespace {

constexpr int kListed = 2048;  // slots that are kept; a longer list is read back from memory, by one block
constexpr size_t kStaticBytes = sizeof(SelectShared) + 64;  // of shared memory, beside FusedShared

template <typename T, int kEach>
struct FusedShared {
  Part<kEach> part;
  int32_t slots[kListed];
  union {
    int32_t scores[kHeldScores];                            // until the keys are chosen
    typename Gather<T, kEach>::Buffer gathered[kRowWarps];  // from then on
  };
};

// What a row reads, and how many of its blocks do it.
struct Chosen {
  KeySource source;
  int32_t blocks;
};

// By each block of a row that may have something to do; the first of them leaves the list and its tally.
__device__ Chosen ChooseKeys(const SelectArgs& args, int32_t i, int32_t row, const PagesView& pages,
                             const uint32_t* mass_table, int32_t helpers, int32_t* scores, int32_t* slots) {
  const auto block = static_cast<int32_t>(blockIdx.y);
  const KeyView view = args.views[row];
  const SelectionRule rule = args.rules[row];
  KeyList& list = args.lists[row];
  if (block == 0 && threadIdx.x == 0) TallyScores(args, rule, row);
  if (!NeedsScores(rule, view.length)) {
    const KeyWindow window = WindowOf(rule, view);
    if (block == 0) ListWindow(window, view, list);
    const int32_t* candidates = view.candidates == nullptr ? nullptr : view.candidates + window.first;
    return {{{view.pages, candidates, window.first, window.count}, nullptr}, static_cast<int32_t>(gridDim.y)};
  }
  Chosen chosen = {{{view.pages, view.candidates, 0, view.length}, nullptr}, helpers};
  if (block >= min(helpers, Division(KeysToKeep(rule, view.length)).splits)) {
    chosen.blocks = 0;
    return chosen;
  }
  __shared__ SelectShared shared;
  const KeySearch search = {shared, scores, pages, view, mass_table};
  const int32_t count = SelectRow(args, i, rule, search, [&](int32_t rank, int32_t position) {
    if (block == 0) list.positions[rank] = position;
    if (rank < kListed) slots[rank] = pages.Slot(view.pages, position);
  });
  if (block == 0 && threadIdx.x == 0) list.count = count;
  __syncthreads();
  if (count == kEveryKey) return chosen;
  chosen.source.keys = {view.pages, list.positions, 0, count};
  if (count <= kListed) {
    chosen.source.slots = slots;
  } else {
    chosen.blocks = 1;
  }
  return chosen;
}

// Block (i, b) is one of the blocks of row `first_row` + i of the call.
template <typename T, int kEach>
__global__ void __launch_bounds__(kRowThreads, 2)
    SelectAttendKernel(SelectArgs select, AttendArgs attend, PagesView pages, const uint32_t* mass_table,
                       AttendSpace space, int32_t first_row, int32_t helpers) {
  WaitForPrevious();
  const auto slot = static_cast<int32_t>(blockIdx.x), block = static_cast<int32_t>(blockIdx.y);
  const int32_t i = first_row + slot;
  if (i >= RowCount(attend.rows)) return;
  const int32_t row = RowAt(attend.rows, i);
  auto& shared = *reinterpret_cast<FusedShared<T, kEach>*>(DynamicShared());
  const Chosen chosen = ChooseKeys(select, i, row, pages, mass_table, helpers, shared.scores, shared.slots);
  const int32_t count = chosen.source.keys.count;
  const Division division(count);
  if (block >= min(chosen.blocks, division.splits)) return;
  if (block == 0 && threadIdx.x == 0) Tally(attend, row, count);

  using Rows = Gather<T, kEach>;
  Rows rows(shared.gathered[threadIdx.x / kWarp], pages, chosen.source, division, block, chosen.blocks);
  const Query<kEach> query(attend, i, pages.width);
  float* output = attend.output + static_cast<size_t>(i) * pages.width;
  int32_t own = 0;
  for (int32_t split = block; split < division.splits; split += chosen.blocks, ++own) {
    Running<kEach> running;
    running.Clear();
    for (int32_t j = rows.FirstOf(split); j < division.Last(split); j += Rows::kStep) {
      Held<T, kEach> held[Rows::kKeys];
      float scores[Rows::kKeys];
      rows.TakeKeys(held);
      ScoreKeys(held, division.Last(split) - j, query, scores);
      rows.TakeValues(held);
      running.Add(scores, held);
    }
    if (own > 0) __syncthreads();  // the split before may still be added up
    shared.part.Leave(running);
    __syncthreads();
    MergeWarps(shared.part, division, split, space, slot, output);
  }
  if (division.splits > 1) FinishRow<kEach>(own, division.splits, space, slot, output);
}

template <typename T, int kEach>
bool LaunchFused(Device& device, const SelectArgs& select, const AttendArgs& attend, const uint32_t* mass_table,
                 const AttendSpace& space) {
  constexpr size_t kBytes = sizeof(FusedShared<T, kEach>);
  if (kBytes + kStaticBytes > device.shared_bytes()) return false;
  const PagesView pages(attend.store, attend.layer, select.group);
  for (int32_t first = 0; first < attend.rows.capacity; first += space.rows) {
    const int32_t rows = std::min(space.rows, attend.rows.capacity - first);
    const int32_t helpers = std::clamp(device.multiprocessors() / rows, 1, kMostSplits);
    const int32_t blocks = std::clamp(4 * device.multiprocessors() / rows, 1, kMostSplits);
    Launch(device,
           {.grid_x = static_cast<unsigned>(rows),
            .grid_y = static_cast<unsigned>(blocks),
            .threads = kRowThreads,
            .shared_bytes = kBytes},
           SelectAttendKernel<T, kEach>, select, attend, pages, mass_table, space, first, helpers);
  }
  return true;
}

template <typename T>
bool SelectAttendOf(Device& device, const SelectArgs& select, const AttendArgs& attend, const uint32_t* mass_table,
                    const AttendSpace& space) {
  const int32_t width = attend.store.layout.width;
  if (LanesFit(8, width, attend.heads)) return LaunchFused<T, 8>(device, select, attend, mass_table, space);
  if (LanesFit(16, width, attend.heads)) return LaunchFused<T, 16>(device, select, attend, mass_table, space);
  return false;
}

}  // namespace

bool SelectAttend(Device& device, const SelectArgs& select, const AttendArgs& attend, const uint32_t* mass_table,
                  const AttendSpace& space) {
  if (attend.store.layout.type == ElementType::kInt8) return false;
  if (3 * attend.rows.capacity < device.multiprocessors()) return false;
  if (attend.store.layout.type == ElementType::kBF16) {
    return SelectAttendOf<uint16_t>(device, select, attend, mass_table, space);
  }
  return SelectAttendOf<float>(device, select, attend, mass_table, space);
}

}  // namespace salient::cuda
