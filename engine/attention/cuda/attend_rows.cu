// Attention of each query by itself, over all or some of the keys it sees: what a decoding step needs.
//
// The fast kernel reads whole rows of K and V, 16 bytes a lane at a time, for all heads at once; many keys are split
// among blocks (attend_row.h). A warp's keys are all on their way before the first is worked on.
//
// The general kernel serves every other shape: a block a row, scores of 128 keys at a time through shared memory.

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

// Block (i, s) is split s of row `first_row` + i of the call.
template <typename T, int kEach>
__global__ void __launch_bounds__(kRowThreads, 2)
    AttendRowsKernel(AttendArgs args, PagesView pages, AttendSpace space, int32_t first_row) {
  WaitForPrevious();
  const auto slot = static_cast<int32_t>(blockIdx.x), split = static_cast<int32_t>(blockIdx.y);
  const int32_t i = first_row + slot;
  if (i >= RowCount(args.rows) || IsInTile(space.plan, i)) return;
  const int32_t row = RowAt(args.rows, i);
  const Keys keys = KeysOf(args, row);
  const Division division(keys.count);
  if (split >= division.splits) return;
  if (split == 0 && threadIdx.x == 0) Tally(args, row, keys.count);
  const Query<kEach> query(args, i, pages.width);
  Running<kEach> running;
  running.Clear();
  AttendSplit<T>(pages, keys, division.First(split), division.Last(split), query, running);

  auto& part = *reinterpret_cast<Part<kEach>*>(DynamicShared());
  part.Leave(running);
  __syncthreads();
  float* output = args.output + static_cast<size_t>(i) * pages.width;
  MergeWarps(part, division, split, space, slot, output);
  if (division.splits > 1) FinishRow<kEach>(1, division.splits, space, slot, output);
}

constexpr int kChunk = 128;  // keys at a time in the general kernel

template <typename T>
__device__ float ToFloat(T value) {
  if constexpr (sizeof(T) == 2) {
    return FloatOfBF16(value);
  } else {
    return static_cast<float>(value);
  }
}

// Shared memory of the general kernel, beside its scores [heads][kChunk]: values [width], and by head the softmax.
struct General {
  float* scores;
  float* values;
  float* largest;
  float* sum;
  float* shrink;

  static __host__ __device__ size_t Floats(int32_t heads, int32_t width) {
    return static_cast<size_t>(heads) * (kChunk + 3) + width;
  }
  __device__ General(int32_t heads, int32_t width)
      : scores(reinterpret_cast<float*>(DynamicShared())),
        values(scores + heads * kChunk),
        largest(values + width),
        sum(largest + heads),
        shrink(sum + heads) {}
};

template <typename T>
__global__ void __launch_bounds__(kRowThreads) AttendAnyKernel(AttendArgs args, PagesView pages, AttendSpace space) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows) || IsInTile(space.plan, i)) return;
  const int32_t row = RowAt(args.rows, i), width = pages.width, heads = args.heads, head_width = width / heads;
  constexpr bool kScaled = sizeof(T) == 1;
  const Keys keys = KeysOf(args, row);
  if (threadIdx.x == 0) Tally(args, row, keys.count);
  const General shared(heads, width);
  const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
  const float* query = args.queries + static_cast<size_t>(i) * width;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t c = thread; c < width; c += kRowThreads) shared.values[c] = 0;
  for (int32_t head = thread; head < heads; head += kRowThreads) {
    shared.largest[head] = kNothing;
    shared.sum[head] = 0;
  }
  for (int32_t first = 0; first < keys.count; first += kChunk) {
    const int32_t count = min(kChunk, keys.count - first);
    __syncthreads();
    for (int32_t at = thread; at < heads * count; at += kRowThreads) {
      const int32_t head = at % heads, j = at / heads;
      const T* key = pages.Key<T>(keys.pages, keys.Position(first + j)) + head * head_width;
      float score = 0;
      for (int32_t c = 0; c < head_width; ++c) score += query[head * head_width + c] * ToFloat(key[c]);
      if constexpr (kScaled) score *= pages.Scales(keys.pages, keys.Position(first + j))[head];
      shared.scores[head * kChunk + j] = score * scale;
    }
    __syncthreads();
    for (int32_t head = thread; head < heads; head += kRowThreads) {
      float* scores = shared.scores + head * kChunk;
      float largest = shared.largest[head], sum = 0;
      for (int32_t j = 0; j < count; ++j) largest = fmaxf(largest, scores[j]);
      for (int32_t j = 0; j < count; ++j) sum += scores[j] = expf(scores[j] - largest);
      shared.shrink[head] = expf(shared.largest[head] - largest);
      shared.sum[head] = shared.sum[head] * shared.shrink[head] + sum;
      shared.largest[head] = largest;
    }
    __syncthreads();
    for (int32_t c = thread; c < width; c += kRowThreads) {
      const float* weights = shared.scores + c / head_width * kChunk;
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
  for (int32_t first = 0; first < args.rows.capacity; first += space.rows) {
    const auto rows = static_cast<unsigned>(std::min(space.rows, args.rows.capacity - first));
    Launch(device, {.grid_x = rows, .grid_y = kMostSplits, .threads = kRowThreads, .shared_bytes = sizeof(Part<kEach>)},
           AttendRowsKernel<T, kEach>, args, PagesView(args.store, args.layer), space, first);
  }
}

template <typename T>
void LaunchAny(Device& device, const AttendArgs& args, const AttendSpace& space) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.rows.capacity),
          .threads = kRowThreads,
          .shared_bytes = General::Floats(args.heads, args.store.layout.width) * sizeof(float)},
         AttendAnyKernel<T>, args, PagesView(args.store, args.layer), space);
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
