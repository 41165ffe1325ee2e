// Finds a call's documents: one block, a few passes over the rows.
//
// A document is a run of rows that share a page table and have no candidates of their own. Runs of 32 rows and more
// whose queries read enough of what they see are cut into tiles. Which rows go together follows from a document's own
// rows.

#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/tile_plan.h"
#include "engine/core/cuda/language.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;
// Tiles read whole pages of 64 keys: below this share of the keys read, fetching those alone is less.
constexpr unsigned long long kLeastShare = 20;  // one in 20

__device__ bool Begins(const AttendArgs& args, int32_t i) {
  if (i == 0) return true;
  const KeyView& view = args.views[RowAt(args.rows, i)];
  const KeyView& before = args.views[RowAt(args.rows, i - 1)];
  return view.pages != before.pages || view.candidates != nullptr || before.candidates != nullptr;
}

// Notes every row's first row of its document: the last row up to it at which one begins.
__device__ void FindFirstRows(const AttendArgs& args, int32_t size, DocumentSum* sums) {
  __shared__ int32_t last_of_warp[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  int32_t before = 0;  // the last beginning of the rounds so far
  for (int32_t from = 0; from < size; from += kThreads) {
    const int32_t i = from + static_cast<int32_t>(threadIdx.x);
    const unsigned begins = __ballot_sync(kAllLanes, i < size && Begins(args, i));
    const int32_t warp_from = i - lane;
    if (lane == 0) last_of_warp[warp] = begins == 0 ? -1 : warp_from + 31 - __clz(static_cast<int>(begins));
    __syncthreads();
    const unsigned up_to_here = begins & (0xffffffffu >> (31 - lane));
    int32_t first = before;
    for (int w = 0; w < kWarps; ++w) {
      if (last_of_warp[w] < 0) continue;
      if (w < warp) first = last_of_warp[w];
      before = last_of_warp[w];
    }
    if (up_to_here != 0) first = warp_from + 31 - __clz(static_cast<int>(up_to_here));
    if (i < size) sums[i].first = first;
    __syncthreads();
  }
}

// Adds a row's numbers to its document's. A warp's rows are of one document as a rule: their sums are added up first,
// so that a document of 2,048 rows takes 64 times 3 atomic operations on one address and not 2,048 times 3. By whole
// warps; `sum` is null for a lane without a row.
__device__ void AddToDocument(DocumentSum* sum, int32_t length, int32_t read) {
  const auto own = reinterpret_cast<unsigned long long>(sum);
  const unsigned long long first = __shfl_sync(kAllLanes, own, 0);
  if (__ballot_sync(kAllLanes, own == first) != kAllLanes) {
    if (sum == nullptr) return;
    atomicAdd(&sum->visible, static_cast<unsigned long long>(length));
    atomicAdd(&sum->read, static_cast<unsigned long long>(read));
    atomicAdd(&sum->rows, 1);
    return;
  }
  if (sum == nullptr) return;
  unsigned long long visible_of_all = length, read_of_all = read;
  for (int step = kWarp / 2; step > 0; step /= 2) {
    visible_of_all += __shfl_xor_sync(kAllLanes, visible_of_all, step);
    read_of_all += __shfl_xor_sync(kAllLanes, read_of_all, step);
  }
  if (threadIdx.x % kWarp != 0) return;
  atomicAdd(&sum->visible, visible_of_all);
  atomicAdd(&sum->read, read_of_all);
  atomicAdd(&sum->rows, kWarp);
}

__device__ bool WorthTiles(const DocumentSum& sum) {
  return sum.rows >= kLeastRowsOfADocument && sum.read * kLeastShare >= sum.visible;
}

__global__ void __launch_bounds__(kThreads) PlanTilesKernel(AttendArgs args, TilePlan* plan, int32_t room) {
  WaitForPrevious();
  const int32_t size = RowCount(args.rows);
  const auto thread = static_cast<int32_t>(threadIdx.x);
  if (thread == 0) {
    plan->tiles = 0;
    plan->rows = room;
    plan->rest_count = 0;
  }
  __syncthreads();
  DocumentSum* sums = plan->sums();
  for (int32_t i = thread; i < size; i += kThreads) {
    sums[i].visible = sums[i].read = 0;
    sums[i].rows = 0;
  }
  FindFirstRows(args, size, sums);
  __syncthreads();
  // A row with candidates is a document of its own, and too small for tiles.
  for (int32_t from = 0; from < size; from += kThreads) {
    const int32_t i = from + thread, row = i < size ? RowAt(args.rows, i) : 0;
    const int32_t length = i < size ? args.views[row].length : 0;
    const int32_t listed = args.lists == nullptr || i >= size ? kEveryKey : args.lists[row].count;
    AddToDocument(i < size ? &sums[sums[i].first] : nullptr, length, listed == kEveryKey ? length : listed);
  }
  __syncthreads();
  for (int32_t from = 0; from < size; from += kThreads) {
    const int32_t i = from + thread;
    const bool there = i < size, tiled = there && WorthTiles(sums[sums[i].first]);
    const unsigned single = __ballot_sync(kAllLanes, there && !tiled);
    const int lane = thread % kWarp;
    int32_t place = 0;
    if (lane == 0 && single != 0) place = atomicAdd(&plan->rest_count, __popc(single));
    place = __shfl_sync(kAllLanes, place, 0) + __popc(single & ((1u << lane) - 1));
    if (there && !tiled) plan->rest()[place] = i;
    if (!tiled || sums[i].first != i) continue;
    const DocumentSum& sum = sums[i];
    int32_t at = atomicAdd(&plan->tiles, CeilDiv(sum.rows, kTileRows));
    for (int32_t first = 0; first < sum.rows; first += kTileRows) {
      plan->list()[at++] = {i + first, min(kTileRows, sum.rows - first)};
    }
  }
}

}  // namespace

size_t PlanBytes(int32_t rows) { return TilePlan::Bytes(rows); }

void PlanTiles(Device& device, const AttendArgs& args, const AttendSpace& space) {
  Launch(device, {.threads = kThreads}, PlanTilesKernel, args, space.plan, space.plan_rows);
}

}  // namespace salient::cuda
