// Attention of documents' queries on tensor cores, for encoders: 128 queries of one head by the 64 keys of a page.
//
//   S = Q K^T (bf16 products, fp32 sums), masked; P = exp2(S - running maximum); O = O * shrink + P V; O / sum at the
//   end
//
// (FlashAttention-2, arXiv 2307.08691). Eight warps take 16 queries each; S, P and O stay in registers, in the
// fragments of tensor_core.h: P's accumulators are the next product's first operand as they are. K and V of the next
// pages are on their way to shared memory while this page is worked on.
//
// A page of one head (width 64) is 16 KB, and 128 queries take 2.1 MFLOP of it: 128 FLOP a byte. With 64 queries it was
// 64 FLOP a byte, and the 5.5 TB/s of an H100's second-level cache were enough for 350 TFLOP/s only.
//
// A page costs one barrier. Threads note their queries' next page before it; whoever comes past it knows the smallest,
// and that nobody reads the oldest stage any more: so it starts the copies of the page that is kStages - 1 further on.
//
// While others decode (Device::LeaveRoom) there are only as many blocks as multiprocessors that may be filled, and each
// takes several tiles. A block of 2,048 keys keeps its multiprocessor for some 20 us, so that each of a step's kernels
// would wait for half of them to end.
//
// Sparse queries share the tiles: which keys a query reads of a page is a mask of 64 bits, made from its list, and a
// page that none of the tile's queries reads is skipped. Each query's sums are its own row of every product, and a page
// that it does not read changes nothing in them, so its result depends on its own keys alone.

#include <algorithm>

#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/tile_plan.h"
#include "engine/core/cuda/pages.h"
#include "engine/core/cuda/tensor_core.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = kTileRows / 16 * kWarp;
constexpr int kWarps = kThreads / kWarp;
template <int kWidth>
inline constexpr int kStages = kWidth > 64 ? 2 : 3;  // in the 99 KB of an L4
constexpr int kNoPage = 0x7fffffff;
constexpr float kNothing = -INFINITY;

// Rows of K and V in shared memory are 16 bytes longer than they are wide, so that the eight rows of a matrix that
// ldmatrix reads lie in different banks.
template <int kWidth>
struct Stage {
  static constexpr int kStride = kWidth + 8;
  uint16_t key[kPagePositions][kStride];
  uint16_t value[kPagePositions][kStride];
  unsigned long long mask[kTileRows];
};

// The pages that a tile's queries read, in ascending order. Thread q < 128 follows query q.
struct Cursor {
  const int32_t* listed = nullptr;
  bool sparse = false;  // reads what is listed, which may be nothing
  int32_t count = 0;    // keys read
  int32_t next = 0;     // of the list
  int32_t length = 0;

  // The first page from `page` on that the query reads of.
  __device__ int32_t PageFrom(int32_t page) const {
    if (!sparse) return page * kPagePositions < length ? page : kNoPage;
    return next < count ? listed[next] / kPagePositions : kNoPage;
  }
  // Which keys of the page it reads; goes past them.
  __device__ unsigned long long Take(int32_t page) {
    const int32_t first = page * kPagePositions;
    // Not by min, max and a comparison with 64. Of these ptxas 13.0 makes one instruction for sm_90 (VIMNMX.RELU) and
    // takes its predicate for the opposite, so that every mask is full.
    if (!sparse) return length <= first ? 0 : ~0ull >> max(0, first + kPagePositions - length);
    unsigned long long mask = 0;
    for (; next < count && listed[next] < first + kPagePositions; ++next) mask |= 1ull << (listed[next] - first);
    return mask;
  }
};

__device__ Cursor CursorOf(const AttendArgs& args, const Tile& tile, int32_t q) {
  Cursor cursor;
  if (q >= tile.count) return cursor;
  const int32_t row = RowAt(args.rows, tile.first + q);
  cursor.length = cursor.count = args.views[row].length;
  if (args.lists != nullptr && args.lists[row].count != kEveryKey) {
    cursor.sparse = true;
    cursor.listed = args.lists[row].positions;
    cursor.count = args.lists[row].count;
  }
  return cursor;
}

// The smallest value of a block: warps leave theirs, and everybody reads them after a barrier.
__device__ void LeaveMin(int32_t value, int32_t* of_warps) {
  for (int step = kWarp / 2; step > 0; step /= 2) value = min(value, __shfl_xor_sync(kAllLanes, value, step));
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
}
__device__ int32_t TakeMin(const int32_t* of_warps) {
  int32_t value = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) value = min(value, of_warps[warp]);
  return value;
}

// Starts the copies of a page's keys and values of one head; positions from `length` on become zeros.
template <int kWidth>
__device__ void LoadPage(const PagesView& pages, const int32_t* table, int32_t page, int32_t length, int32_t head,
                         Stage<kWidth>& stage) {
  constexpr int kWords = kWidth / 8;
  const int32_t first = page * kPagePositions;
  const uint16_t* keys = pages.Key<uint16_t>(table, first) + head * kWidth;
  const uint32_t stride = pages.row_bytes / sizeof(uint16_t);
  for (auto at = static_cast<int32_t>(threadIdx.x); at < kPagePositions * kWords; at += kThreads) {
    const int32_t j = at / kWords, c = at % kWords * 8;
    const uint16_t* key = keys + j * stride + c;
    const bool valid = first + j < length;
    CopyAsync16(&stage.key[j][c], key, valid);
    CopyAsync16(&stage.value[j][c], key + pages.width, valid);
  }
}

// 16 queries as first operands, a lane's share; rows beyond `count` are zeros.
template <int kWidth>
__device__ void LoadQueries(const float* queries, int32_t stride, int32_t count, float scale,
                            uint32_t (&fragments)[kWidth / 16][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int k = 0; k < kWidth / 16; ++k) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int row = g + r % 2 * 8, column = k * 16 + r / 2 * 8 + 2 * t;
      const float* from = queries + static_cast<size_t>(row) * stride + column;
      fragments[k][r] = row < count ? PackBF16(from[0] * scale, from[1] * scale) : 0;
    }
  }
}

// What a warp knows of its 16 queries: a lane holds two of their rows, g and g + 8.
template <int kWidth>
struct Sums {
  float largest[2] = {kNothing, kNothing};
  float sum[2] = {0, 0};
  float values[kWidth / 8][4] = {};
};

// One page for 16 queries, of which this warp's first is row `row` of the tile.
template <int kWidth>
__device__ void AttendPage(const Stage<kWidth>& stage, int row, const uint32_t (&queries)[kWidth / 16][4],
                           Sums<kWidth>& sums) {
  constexpr int kKeyTiles = kPagePositions / 8;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
  float scores[kKeyTiles][4] = {};
#pragma unroll
  for (int n = 0; n < kKeyTiles; n += 2) {
#pragma unroll
    for (int k = 0; k < kWidth / 16; ++k) {
      uint32_t keys[4];
      LoadMatrices(keys, &stage.key[n * 8 + lane / 16 * 8 + lane % 8][k * 16 + lane / 8 % 2 * 8]);
      MultiplyAdd(scores[n], queries[k], {keys[0], keys[1]});
      MultiplyAdd(scores[n + 1], queries[k], {keys[2], keys[3]});
    }
  }
  float shrink[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const unsigned long long mask = stage.mask[row + g + half * 8];
    float largest = sums.largest[half];
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& score = scores[n][2 * half + c];
        if ((mask >> (n * 8 + 2 * t + c) & 1) == 0) score = kNothing;
        largest = fmaxf(largest, score);
      }
    }
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
    const float base = largest == kNothing ? 0.0f : largest;  // nothing read so far: every weight is zero
    shrink[half] = exp2f(sums.largest[half] - base);
    sums.largest[half] = largest;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        float& score = scores[n][2 * half + c];
        score = exp2f(score - base);
        sum += score;
      }
    }
    sums.sum[half] = sums.sum[half] * shrink[half] + sum;
  }
#pragma unroll
  for (int d = 0; d < kWidth / 8; ++d) {
#pragma unroll
    for (int r = 0; r < 4; ++r) sums.values[d][r] *= shrink[r / 2];
  }
#pragma unroll
  for (int k = 0; k < kPagePositions / 16; ++k) {
    const uint32_t weights[4] = {
        PackBF16(scores[2 * k][0], scores[2 * k][1]), PackBF16(scores[2 * k][2], scores[2 * k][3]),
        PackBF16(scores[2 * k + 1][0], scores[2 * k + 1][1]), PackBF16(scores[2 * k + 1][2], scores[2 * k + 1][3])};
#pragma unroll
    for (int d = 0; d < kWidth / 8; d += 2) {
      uint32_t values[4];
      LoadTransposed(values, &stage.value[k * 16 + lane / 8 % 2 * 8 + lane % 8][d * 8 + lane / 16 * 8]);
      MultiplyAdd(sums.values[d], weights, {values[0], values[1]});
      MultiplyAdd(sums.values[d + 1], weights, {values[2], values[3]});
    }
  }
}

// 16 queries' results: `output` is the first one's, of this head.
template <int kWidth>
__device__ void StoreOutput(Sums<kWidth>& sums, int32_t count, int32_t stride, float* output) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, g = lane / 4, t = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float sum = sums.sum[half];
    sum += __shfl_xor_sync(kAllLanes, sum, 1);
    sum += __shfl_xor_sync(kAllLanes, sum, 2);
    const float inverse = sum == 0 ? 0.0f : 1.0f / sum;
    const int row = g + half * 8;
    if (row >= count) continue;
    float* to = output + static_cast<size_t>(row) * stride + 2 * t;
#pragma unroll
    for (int d = 0; d < kWidth / 8; ++d) {
      to[d * 8] = sums.values[d][2 * half] * inverse;
      to[d * 8 + 1] = sums.values[d][2 * half + 1] * inverse;
    }
  }
}

// One tile of the plan for one head, by a block.
template <int kWidth>
__device__ void AttendTile(const AttendArgs& args, const PagesView& pages, const Tile& tile, int32_t head) {
  constexpr int kAhead = kStages<kWidth> - 1;
  __shared__ int32_t next_pages[2][kWarps], lengths[kWarps];  // the next pages of even and of odd places
  auto* stages = reinterpret_cast<Stage<kWidth>*>(DynamicShared());
  const auto thread = static_cast<int32_t>(threadIdx.x);
  const int row = thread / kWarp * 16;  // this warp's first query of the tile
  const int32_t* table = args.views[RowAt(args.rows, tile.first)].pages;
  Cursor cursor = CursorOf(args, tile, thread);
  LeaveMin(-cursor.length, lengths);
  LeaveMin(cursor.PageFrom(0), next_pages[0]);

  const float scale = 1.44269504f / sqrtf(static_cast<float>(kWidth));  // to powers of two
  const size_t at = static_cast<size_t>(tile.first + row) * pages.width + static_cast<size_t>(head) * kWidth;
  uint32_t queries[kWidth / 16][4];
  LoadQueries<kWidth>(args.queries + at, pages.width, tile.count - row, scale, queries);
  Sums<kWidth> sums;
  __syncthreads();
  const int32_t length = -TakeMin(lengths);

  // After a barrier: starts the copies of the page at place `place` of those that are read, and notes what comes after
  // it. Says which page that is.
  const auto prepare = [&](int place) {
    const int32_t page = TakeMin(next_pages[place % 2]);
    if (page != kNoPage) {
      Stage<kWidth>& stage = stages[place % kStages<kWidth>];
      if (thread < kTileRows) stage.mask[thread] = thread < tile.count ? cursor.Take(page) : 0;
      LoadPage(pages, table, page, length, head, stage);
    }
    LeaveMin(page == kNoPage ? kNoPage : cursor.PageFrom(page + 1), next_pages[1 - place % 2]);
    CommitCopies();
    return page;
  };
  int32_t ahead[kAhead];  // pages from this place on
#pragma unroll
  for (int a = 0; a < kAhead; ++a) {
    if (a > 0) __syncthreads();
    ahead[a] = prepare(a);
  }
  int32_t worked = 0;
  for (; ahead[0] != kNoPage; ++worked) {
    WaitForCopies<kAhead - 1>();
    __syncthreads();  // this page is there for all, and the page before is no longer read
    const int32_t further = prepare(worked + kAhead);
    AttendPage(stages[worked % kStages<kWidth>], row, queries, sums);
#pragma unroll
    for (int a = 0; a + 1 < kAhead; ++a) ahead[a] = ahead[a + 1];
    ahead[kAhead - 1] = further;
  }
  StoreOutput(sums, tile.count - row, pages.width, args.output + at);
  if (head != 0 || args.tallies == nullptr || thread >= tile.count) return;
  AttentionTally& tally = args.tallies[RowAt(args.rows, tile.first + thread)];
  tally.visible += cursor.length;
  tally.attended += cursor.count;
  tally.executed += static_cast<int64_t>(worked) * kPagePositions;
}

// Each block takes one tile for one head; or, `kInTurns`, every gridDim.x-th of them, at some more registers.
template <int kWidth, bool kInTurns>
__global__ void __launch_bounds__(kThreads) AttendTilesKernel(AttendArgs args, PagesView pages, TilePlan* plan) {
  WaitForPrevious();
  const int32_t tiles = plan->tiles, items = tiles * args.heads;
  auto item = static_cast<int32_t>(blockIdx.x);
  while (item < items) {
    AttendTile<kWidth>(args, pages, plan->list()[item % tiles], item / tiles);
    if (!kInTurns) return;
    __syncthreads();  // a slower warp may not have read next_pages yet
    item += static_cast<int32_t>(gridDim.x);
  }
}

template <int kWidth>
void LaunchTiles(Device& device, const AttendArgs& args, const AttendSpace& space) {
  const int32_t most = TilePlan::MostTiles(args.rows.capacity) * args.heads;
  const int32_t blocks = device.leaves_room() ? std::min(most, device.multiprocessors_to_fill()) : most;
  Launch(device,
         {.grid_x = static_cast<unsigned>(blocks),
          .threads = kThreads,
          .shared_bytes = kStages<kWidth> * sizeof(Stage<kWidth>)},
         blocks < most ? AttendTilesKernel<kWidth, true> : AttendTilesKernel<kWidth, false>, args,
         PagesView(args.store, args.layer), space.plan);
}

}  // namespace

bool TilesTake(const KvLayout& layout, int32_t heads) {
  const int32_t width = layout.width / heads;
  return layout.type == ElementType::kBF16 && layout.width % 8 == 0 &&
         (width == 32 || width == 48 || width == 64 || width == 128);
}

void AttendTiles(Device& device, const AttendArgs& args, const AttendSpace& space) {
  switch (args.store.layout.width / args.heads) {
    case 32:
      return LaunchTiles<32>(device, args, space);
    case 48:
      return LaunchTiles<48>(device, args, space);
    case 64:
      return LaunchTiles<64>(device, args, space);
    default:
      return LaunchTiles<128>(device, args, space);
  }
}

}  // namespace salient::cuda
