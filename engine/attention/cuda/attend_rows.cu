// Attention of each query by itself, over all or some of the keys it sees: what a decoding step needs.
//
// The fast kernel reads whole rows of K and V, 16 bytes a lane at a time, for all heads at once; many keys are split
// among blocks (attend_row.h). A warp's keys are all on their way before the first is worked on.
//
// Blocks. Each row of a step has its own blocks, about four for each multiprocessor over all rows. They take the
// row's splits in turns: 32 blocks for each of 16 rows on an H100 of 132 multiprocessors, 8 for each of 64. With 32
// blocks for every row, 64 rows of 100 keys were 2,048 blocks, of which 1,984 only ended.
//
// A call with a plan, or with more rows than there is room for partial results, is an encoder's: a block takes whole
// rows, one after the other, with all splits of each. After tiles there are few such rows, or none: for one document of
// 2,048 tokens 65,536 blocks a layer were launched for nothing, and now one wave.
//
// The general kernel serves every other shape: a block a row, scores of up to 128 keys at a time through shared memory.

#include <algorithm>

#include "engine/attention/cuda/attend_row.h"
#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/tile_plan.h"

namespace salient::cuda {
namespace {

__device__ Keys KeysOf(const AttendArgs& args, int32_t row) {
  const KeyView& view = args.views[row];
  if (args.lists == nullptr || args.lists[row].count == kEveryKey) {
    return {view.pages, view.candidates, 0, view.length};
  }
  return {view.pages, args.lists[row].positions, 0, args.lists[row].count};
}

// Keys [first, last) of the row, every kRowWarps-th group of them.
template <typename T, int kEach>
__device__ void AttendSplit(const PagesView& pages, const Keys& keys, int32_t first, int32_t last,
                            const Query<kEach>& query, Running<kEach>& running) {
  constexpr int kKeys = kAtOnce<T, kEach>;
  constexpr bool kScaled = sizeof(T) == 1;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int32_t j = first + warp * kKeys; j < last; j += kRowWarps * kKeys) {
    Held<T, kEach> k[kKeys], v[kKeys];
    float key_scales[kKeys] = {}, value_scales[kKeys] = {};
#pragma unroll
    for (int a = 0; a < kKeys; ++a) {
      if constexpr (kScaled) {
        if (j + a < last) {
          const float* scales = pages.Scales(keys.pages, keys.Position(j + a));
          key_scales[a] = scales[lane / query.lanes_a_head];
          value_scales[a] = scales[pages.heads + lane / query.lanes_a_head];
        }
      }
      if (j + a < last) {
        const T* row = pages.Key<T>(keys.pages, keys.Position(j + a)) + lane * kEach;
        k[a].Load(row);
        v[a].Load(row + pages.width);
      } else {
        k[a].Clear();
        v[a].Clear();
      }
    }
    float scores[kKeys];
    ScoreKeys(k, last - j, query, scores);
    for (int a = 0; kScaled && a < kKeys; ++a) {
      if (j + a < last) scores[a] = __fmul_rn(scores[a], key_scales[a]);
    }
    running.Add(scores, v, kScaled ? value_scales : nullptr);
  }
}

// Row i of the call, by block `block` of its `blocks`, which share the place `slot` for partial results.
template <typename T, int kEach>
__device__ void AttendRow(const AttendArgs& args, const PagesView& pages, const AttendSpace& space, int32_t i,
                          int32_t slot, int32_t block, int32_t blocks) {
  const int32_t row = RowAt(args.rows, i);
  const Keys keys = KeysOf(args, row);
  const Division division(keys.count);
  if (block >= division.splits) return;
  if (block == 0 && threadIdx.x == 0) Tally(args, row, keys.count);
  const Query<kEach> query(args, i, pages.width);
  auto& part = *reinterpret_cast<Part<kEach>*>(DynamicShared());
  float* output = args.output + static_cast<size_t>(i) * pages.width;
  int32_t own = 0;
  for (int32_t split = block; split < division.splits; split += blocks, ++own) {
    Running<kEach> running;
    running.Clear();
    AttendSplit<T>(pages, keys, division.First(split), division.Last(split), query, running);
    if (own > 0) __syncthreads();  // the split before may still be added up
    part.Leave(running);
    __syncthreads();
    MergeWarps(part, division, split, space, slot, output);
  }
  if (division.splits > 1) FinishRow<kEach>(own, division.splits, space, slot, output);
}

// Three blocks of 80 registers a thread fit on a multiprocessor. Only eight numbers of bf16 a lane do without spills
// there.
template <typename T, int kEach>
inline constexpr int kBlocksResident = sizeof(T) == 2 && kEach == 8 ? 3 : 2;

// Block (k, b) is block b of the k-th row. Only where gridDim.y is 1 may there be more rows than gridDim.x.
template <typename T, int kEach>
__global__ void __launch_bounds__(kRowThreads, (kBlocksResident<T, kEach>))
    AttendRowsKernel(AttendArgs args, PagesView pages, AttendSpace space) {
  WaitForPrevious();
  const SingleRows single = {space.plan};
  const int32_t count = single.Count(args.rows);
  const auto slot = static_cast<int32_t>(blockIdx.x), stride = static_cast<int32_t>(gridDim.x);
  for (int32_t k = slot; k < count; k += stride) {
    if (k > slot) __syncthreads();  // the row before may still be added up
    AttendRow<T, kEach>(args, pages, space, single.At(k), slot, static_cast<int32_t>(blockIdx.y),
                        static_cast<int32_t>(gridDim.y));
  }
}

constexpr int kMostChunk = 128;  // keys at a time in the general kernel

template <typename T>
__device__ float ToFloat(T value) {
  if constexpr (sizeof(T) == 2) {
    return FloatOfBF16(value);
  } else {
    return static_cast<float>(value);
  }
}

// Shared memory of the general kernel: scores [heads][chunk], values [width], and by head the softmax. With many heads
// there is room for the scores of few keys at a time.
struct General {
  float* scores;
  float* values;
  float* largest;
  float* sum;
  float* shrink;

  static size_t Bytes(int32_t heads, int32_t width, int32_t chunk) {
    return (static_cast<size_t>(heads) * (chunk + 3) + width) * sizeof(float);
  }
  static int32_t Chunk(int32_t heads, int32_t width, size_t bytes) {
    const size_t fixed = Bytes(heads, width, 0), each = heads * sizeof(float);
    return bytes < fixed + each ? 1 : static_cast<int32_t>(std::min((bytes - fixed) / each, size_t{kMostChunk}));
  }
  __device__ General(int32_t heads, int32_t width, int32_t chunk)
      : scores(reinterpret_cast<float*>(DynamicShared())),
        values(scores + heads * chunk),
        largest(values + width),
        sum(largest + heads),
        shrink(sum + heads) {}
};

template <typename T>
__global__ void __launch_bounds__(kRowThreads)
    AttendAnyKernel(AttendArgs args, PagesView pages, AttendSpace space, int32_t chunk) {
  WaitForPrevious();
  const SingleRows single = {space.plan};
  if (static_cast<int32_t>(blockIdx.x) >= single.Count(args.rows)) return;
  const int32_t i = single.At(static_cast<int32_t>(blockIdx.x));
  const int32_t row = RowAt(args.rows, i), width = pages.width, heads = args.heads, head_width = width / heads;
  constexpr bool kScaled = sizeof(T) == 1;
  const Keys keys = KeysOf(args, row);
  if (threadIdx.x == 0) Tally(args, row, keys.count);
  const General shared(heads, width, chunk);
  const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
  const float* query = args.queries + static_cast<size_t>(i) * width;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t c = thread; c < width; c += kRowThreads) shared.values[c] = 0;
  for (int32_t head = thread; head < heads; head += kRowThreads) {
    shared.largest[head] = kNothing;
    shared.sum[head] = 0;
  }
  for (int32_t first = 0; first < keys.count; first += chunk) {
    const int32_t count = min(chunk, keys.count - first);
    __syncthreads();
    for (int32_t at = thread; at < heads * count; at += kRowThreads) {
      const int32_t head = at % heads, j = at / heads;
      const T* key = pages.Key<T>(keys.pages, keys.Position(first + j)) + head * head_width;
      float score = 0;
      for (int32_t c = 0; c < head_width; ++c) score += query[head * head_width + c] * ToFloat(key[c]);
      if constexpr (kScaled) score *= pages.Scales(keys.pages, keys.Position(first + j))[head];
      shared.scores[head * chunk + j] = score * scale;
    }
    __syncthreads();
    for (int32_t head = thread; head < heads; head += kRowThreads) {
      float* scores = shared.scores + head * chunk;
      float largest = shared.largest[head], sum = 0;
      for (int32_t j = 0; j < count; ++j) largest = fmaxf(largest, scores[j]);
      for (int32_t j = 0; j < count; ++j) sum += scores[j] = expf(scores[j] - largest);
      shared.shrink[head] = expf(shared.largest[head] - largest);
      shared.sum[head] = shared.sum[head] * shared.shrink[head] + sum;
      shared.largest[head] = largest;
    }
    __syncthreads();
    for (int32_t c = thread; c < width; c += kRowThreads) {
      const float* weights = shared.scores + c / head_width * chunk;
      float value = shared.values[c] * shared.shrink[c / head_width];
      for (int32_t j = 0; j < count; ++j) {
        const int32_t position = keys.Position(first + j);
        float weight = weights[j];
        if constexpr (kScaled) weight *= pages.Scales(keys.pages, position)[heads + c / head_width];
        value += weight * ToFloat(pages.Key<T>(keys.pages, position)[width + c]);
      }
      shared.values[c] = value;
    }
  }
  __syncthreads();
  float* output = args.output + static_cast<size_t>(i) * width;
  for (int32_t c = thread; c < width; c += kRowThreads) {
    output[c] = keys.count == 0 ? 0.0f : shared.values[c] / shared.sum[c / head_width];
  }
}

template <typename T, int kEach>
void LaunchRows(Device& device, const AttendArgs& args, const AttendSpace& space) {
  const int32_t wave = 4 * device.multiprocessors(), capacity = args.rows.capacity;
  const bool whole_rows = space.plan != nullptr || capacity > space.rows;
  const int32_t rows = std::min({capacity, space.rows, whole_rows ? wave : capacity});
  const int32_t blocks = whole_rows || rows == 0 ? 1 : std::clamp(wave / rows, 1, kMostSplits);
  Launch(device,
         {.grid_x = static_cast<unsigned>(rows),
          .grid_y = static_cast<unsigned>(blocks),
          .threads = kRowThreads,
          .shared_bytes = sizeof(Part<kEach>)},
         AttendRowsKernel<T, kEach>, args, PagesView(args.store, args.layer), space);
}

template <typename T>
void LaunchAny(Device& device, const AttendArgs& args, const AttendSpace& space) {
  const int32_t width = args.store.layout.width, chunk = General::Chunk(args.heads, width, device.shared_bytes());
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.rows.capacity),
          .threads = kRowThreads,
          .shared_bytes = General::Bytes(args.heads, width, chunk)},
         AttendAnyKernel<T>, args, PagesView(args.store, args.layer), space, chunk);
}

template <typename T>
void AttendRowsOf(Device& device, const AttendArgs& args, const AttendSpace& space) {
  const int32_t width = args.store.layout.width;
  if constexpr (sizeof(T) > 1) {  // a lane loads 16 bytes
    if (LanesFit(8, width, args.heads)) return LaunchRows<T, 8>(device, args, space);
  }
  if (LanesFit(16, width, args.heads)) return LaunchRows<T, 16>(device, args, space);
  LaunchAny<T>(device, args, space);
}

}  // namespace

size_t PartialBytes(int32_t rows, int32_t width) {
  return static_cast<size_t>(rows) * kMostSplits * (width + 2 * kWarp) * sizeof(float);
}

void AttendRows(Device& device, const AttendArgs& args, const AttendSpace& space) {
  switch (args.store.layout.type) {
    case ElementType::kF32:
      return AttendRowsOf<float>(device, args, space);
    case ElementType::kBF16:
      return AttendRowsOf<uint16_t>(device, args, space);
    case ElementType::kInt8:
      return AttendRowsOf<int8_t>(device, args, space);
  }
}

}  // namespace salient::cuda
