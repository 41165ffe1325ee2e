// Attention of each query by itself, over all or some of the keys it sees: what a decoding step needs.
//
// The fast kernel: a position's K and V are one row of memory, and a warp reads it as a whole, 16 bytes a lane at a
// time, for all heads at once. Lane l holds kEach consecutive components of the query, of K, of V and of the output;
// the kEach-wide products of the lanes that share a head are added by shuffles, so each head's score reaches its own
// lanes, which keep its softmax. A warp works on kAtOnce keys at a time, to have their loads in flight together.
//
// Many keys are split among blocks: how, depends on their number alone. Each block leaves its maximum, sum and weighted
// values behind; the last of a row's blocks adds them up, in the order of the keys.
//
// The general kernel serves every other shape: a block a row, scores of 128 keys at a time through shared memory.

#include "engine/attention/cuda/kernels.h"
#include "engine/attention/cuda/pages.h"
#include "engine/attention/cuda/tile_plan.h"
#include "engine/backend/cuda/language.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kSplitKeys = 128;  // keys of a block, as long as there are blocks
constexpr int kMostSplits = 32;
constexpr float kNothing = -INFINITY;

struct Keys {
  const int32_t* pages;
  const int32_t* listed;  // null: 0, 1, 2, ...
  int32_t count;

  __device__ int32_t Position(int32_t j) const { return listed == nullptr ? j : listed[j]; }
};

__device__ Keys KeysOf(const AttendArgs& args, int32_t row) {
  const KeyView& view = args.views[row];
  Keys keys = {view.pages, view.candidates, view.length};
  if (args.lists != nullptr && args.lists[row].count != kEveryKey) {
    keys.listed = args.lists[row].positions;
    keys.count = args.lists[row].count;
  }
  return keys;
}

__device__ void Tally(const AttendArgs& args, int32_t row, int32_t read) {
  if (args.tallies == nullptr) return;
  AttentionTally& tally = args.tallies[row];
  tally.visible += args.views[row].length;
  tally.attended += read;
  tally.executed += read;
}

__device__ int32_t SplitsOf(int32_t keys) { return max(1, min(kMostSplits, CeilDiv(keys, kSplitKeys))); }

// kEach floats from memory, by words of 16 bytes.
template <int kEach>
__device__ void Load(const float* from, float (&values)[kEach]) {
#pragma unroll
  for (int w = 0; w < kEach / 4; ++w) {
    const float4 word = reinterpret_cast<const float4*>(from)[w];
    values[4 * w] = word.x;
    values[4 * w + 1] = word.y;
    values[4 * w + 2] = word.z;
    values[4 * w + 3] = word.w;
  }
}

// What a lane holds of a key until it is worked on: the words as they are in memory.
template <typename T, int kEach>
struct Held {
  static constexpr int kWords = kEach * sizeof(T) / 16;
  uint4 words[kWords];

  __device__ void Load(const T* from) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = reinterpret_cast<const uint4*>(from)[w];
  }
  __device__ void Clear() {
#pragma unroll
    for (int w = 0; w < kWords; ++w) words[w] = make_uint4(0, 0, 0, 0);
  }
  __device__ void Unpack(float (&values)[kEach]) const {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const uint32_t parts[4] = {words[w].x, words[w].y, words[w].z, words[w].w};
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        if constexpr (sizeof(T) == 4) {
          values[4 * w + p] = __uint_as_float(parts[p]);
        } else {
          values[8 * w + 2 * p] = __uint_as_float(parts[p] << 16);
          values[8 * w + 2 * p + 1] = __uint_as_float(parts[p] & 0xffff0000u);
        }
      }
    }
  }
};

// A softmax under way: of one head, of some keys. Values are those of a lane's components.
template <int kEach>
struct Running {
  float largest, sum;
  float values[kEach];

  __device__ void Clear() {
    largest = kNothing;
    sum = 0;
#pragma unroll
    for (int c = 0; c < kEach; ++c) values[c] = 0;
  }
};

// Lane's share of one block's result: the warps' softmaxes, in the order of the warps.
template <int kEach>
struct Part {
  float largest[kWarps][kWarp], sum[kWarps][kWarp];
  float values[kWarps][kWarp * kEach];
};

template <typename T, int kEach>
struct RowsKernel {
  static constexpr int kAtOnce = sizeof(T) * kEach <= 32 ? 4 : 2;

  // Keys [first, last) of the row, every kWarps-th group of them.
  static __device__ void Attend(const PagesView& pages, const Keys& keys, int32_t first, int32_t last,
                                const float (&query)[kEach], int lanes_a_head, Running<kEach>& running) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int32_t j = first + warp * kAtOnce; j < last; j += kWarps * kAtOnce) {
      Held<T, kEach> k[kAtOnce], v[kAtOnce];
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        if (j + a < last) {
          const T* row = pages.Key<T>(keys.pages, keys.Position(j + a)) + lane * kEach;
          k[a].Load(row);
          v[a].Load(row + pages.width);
        } else {
          k[a].Clear();
          v[a].Clear();
        }
      }
      float scores[kAtOnce];
      float largest = running.largest;
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        float values[kEach];
        k[a].Unpack(values);
        float score = 0;
#pragma unroll
        for (int c = 0; c < kEach; ++c) score += query[c] * values[c];
        for (int step = lanes_a_head / 2; step > 0; step /= 2) score += __shfl_xor_sync(kAllLanes, score, step);
        scores[a] = j + a < last ? score : kNothing;
        largest = fmaxf(largest, scores[a]);
      }
      const float shrink = expf(running.largest - largest);
      running.largest = largest;
      running.sum *= shrink;
#pragma unroll
      for (int c = 0; c < kEach; ++c) running.values[c] *= shrink;
#pragma unroll
      for (int a = 0; a < kAtOnce; ++a) {
        const float weight = expf(scores[a] - largest);
        running.sum += weight;
        float values[kEach];
        v[a].Unpack(values);
#pragma unroll
        for (int c = 0; c < kEach; ++c) running.values[c] += weight * values[c];
      }
    }
  }
};

// Where a split leaves its maximum and sum a head, and its values.
__device__ float* PartialOf(float* partial, int32_t i, int32_t split, int32_t width) {
  return partial + (static_cast<size_t>(i) * kMostSplits + split) * (width + 2 * kWarp);
}

// Adds up the splits of a row, in their order.
template <int kEach>
__device__ void Combine(const float* partial, int32_t i, int32_t splits, int32_t width, float* output) {
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) {
    const int lane = c / kEach;
    float largest = kNothing;
    for (int32_t s = 0; s < splits; ++s) {
      largest = fmaxf(largest, PartialOf(const_cast<float*>(partial), i, s, width)[width + lane]);
    }
    float sum = 0, value = 0;
    for (int32_t s = 0; s < splits; ++s) {
      const float* part = PartialOf(const_cast<float*>(partial), i, s, width);
      const float weight = expf(part[width + lane] - largest);
      sum += weight * part[width + kWarp + lane];
      value += weight * part[c];
    }
    output[c] = value / sum;
  }
}

// Block (i, s) is split s of row `first_row` + i of the call.
template <typename T, int kEach>
__global__ void __launch_bounds__(kThreads)
    AttendRowsKernel(AttendArgs args, PagesView pages, AttendSpace space, int32_t first_row) {
  WaitForPrevious();
  const auto slot = static_cast<int32_t>(blockIdx.x), split = static_cast<int32_t>(blockIdx.y);
  const int32_t i = first_row + slot;
  if (i >= RowCount(args.rows) || IsInTile(space.plan, i)) return;
  const int32_t row = RowAt(args.rows, i), width = pages.width;
  const Keys keys = KeysOf(args, row);
  const int32_t splits = SplitsOf(keys.count);
  if (split >= splits) return;
  if (split == 0 && threadIdx.x == 0) Tally(args, row, keys.count);
  const int32_t each = CeilDiv(keys.count, splits);
  const int32_t first = split * each, last = min(first + each, keys.count);

  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t head_width = width / args.heads;
  const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
  float query[kEach];
  Load(args.queries + static_cast<size_t>(i) * width + lane * kEach, query);
#pragma unroll
  for (int c = 0; c < kEach; ++c) query[c] *= scale;
  Running<kEach> running;
  running.Clear();
  RowsKernel<T, kEach>::Attend(pages, keys, first, last, query, head_width / kEach, running);

  auto& part = *reinterpret_cast<Part<kEach>*>(DynamicShared());
  part.largest[warp][lane] = running.largest;
  part.sum[warp][lane] = running.sum;
#pragma unroll
  for (int c = 0; c < kEach; ++c) part.values[warp][lane * kEach + c] = running.values[c];
  __syncthreads();
  float* output = args.output + static_cast<size_t>(i) * width;
  float* left = splits == 1 ? output : PartialOf(space.partial, slot, split, width);
  for (auto c = static_cast<int32_t>(threadIdx.x); c < width; c += kThreads) {
    const int of = c / kEach;
    float largest = kNothing;
    for (int w = 0; w < kWarps; ++w) largest = fmaxf(largest, part.largest[w][of]);
    float sum = 0, value = 0;
    for (int w = 0; w < kWarps; ++w) {
      const float weight = part.largest[w][of] == kNothing ? 0.0f : expf(part.largest[w][of] - largest);
      sum += weight * part.sum[w][of];
      value += weight * part.values[w][c];
    }
    if (splits > 1) {
      left[c] = value;
      if (c % kEach == 0) {
        left[width + of] = largest;
        left[width + kWarp + of] = sum;
      }
    } else {
      left[c] = keys.count == 0 ? 0.0f : value / sum;
    }
  }
  if (splits == 1) return;

  __shared__ int32_t done;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) done = atomicAdd(&space.done[slot], 1);
  __syncthreads();
  if (done != splits - 1) return;
  __threadfence();
  Combine<kEach>(space.partial, slot, splits, width, output);
  if (threadIdx.x == 0) space.done[slot] = 0;
}

constexpr int kChunk = 128;  // keys at a time in the general kernel

template <typename T>
__device__ float ToFloat(T value) {
  if constexpr (sizeof(T) == 4) {
    return value;
  } else {
    return FloatOfBF16(value);
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
__global__ void __launch_bounds__(kThreads) AttendAnyKernel(AttendArgs args, PagesView pages, AttendSpace space) {
  WaitForPrevious();
  const auto i = static_cast<int32_t>(blockIdx.x);
  if (i >= RowCount(args.rows) || IsInTile(space.plan, i)) return;
  const int32_t row = RowAt(args.rows, i), width = pages.width, heads = args.heads, head_width = width / heads;
  const Keys keys = KeysOf(args, row);
  if (threadIdx.x == 0) Tally(args, row, keys.count);
  const General shared(heads, width);
  const float scale = 1.0f / sqrtf(static_cast<float>(head_width));
  const float* query = args.queries + static_cast<size_t>(i) * width;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  for (int32_t c = thread; c < width; c += kThreads) shared.values[c] = 0;
  for (int32_t head = thread; head < heads; head += kThreads) {
    shared.largest[head] = kNothing;
    shared.sum[head] = 0;
  }
  for (int32_t first = 0; first < keys.count; first += kChunk) {
    const int32_t count = min(kChunk, keys.count - first);
    __syncthreads();
    for (int32_t at = thread; at < heads * count; at += kThreads) {
      const int32_t head = at % heads, j = at / heads;
      const T* key = pages.Key<T>(keys.pages, keys.Position(first + j)) + head * head_width;
      float score = 0;
      for (int32_t c = 0; c < head_width; ++c) score += query[head * head_width + c] * ToFloat(key[c]);
      shared.scores[head * kChunk + j] = score * scale;
    }
    __syncthreads();
    for (int32_t head = thread; head < heads; head += kThreads) {
      float* scores = shared.scores + head * kChunk;
      float largest = shared.largest[head], sum = 0;
      for (int32_t j = 0; j < count; ++j) largest = fmaxf(largest, scores[j]);
      for (int32_t j = 0; j < count; ++j) sum += scores[j] = expf(scores[j] - largest);
      shared.shrink[head] = expf(shared.largest[head] - largest);
      shared.sum[head] = shared.sum[head] * shared.shrink[head] + sum;
      shared.largest[head] = largest;
    }
    __syncthreads();
    for (int32_t c = thread; c < width; c += kThreads) {
      const float* weights = shared.scores + c / head_width * kChunk;
      float value = shared.values[c] * shared.shrink[c / head_width];
      for (int32_t j = 0; j < count; ++j) {
        value += weights[j] * ToFloat(pages.Key<T>(keys.pages, keys.Position(first + j))[width + c]);
      }
      shared.values[c] = value;
    }
  }
  __syncthreads();
  float* output = args.output + static_cast<size_t>(i) * width;
  for (int32_t c = thread; c < width; c += kThreads) {
    output[c] = keys.count == 0 ? 0.0f : shared.values[c] / shared.sum[c / head_width];
  }
}

template <typename T, int kEach>
void LaunchRows(Device& device, const AttendArgs& args, const AttendSpace& space) {
  for (int32_t first = 0; first < args.rows.capacity; first += space.rows) {
    const auto rows = static_cast<unsigned>(std::min(space.rows, args.rows.capacity - first));
    Launch(device, {.grid_x = rows, .grid_y = kMostSplits, .threads = kThreads, .shared_bytes = sizeof(Part<kEach>)},
           AttendRowsKernel<T, kEach>, args, PagesView(args.store, args.layer), space, first);
  }
}

template <typename T>
void LaunchAny(Device& device, const AttendArgs& args, const AttendSpace& space) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.rows.capacity),
          .threads = kThreads,
          .shared_bytes = General::Floats(args.heads, args.store.layout.width) * sizeof(float)},
         AttendAnyKernel<T>, args, PagesView(args.store, args.layer), space);
}

// Lanes share heads evenly: kEach divides a head's width, a power of two lanes of it to a head.
bool Fits(int32_t each, int32_t width, int32_t heads) {
  const int32_t head_width = width / heads;
  if (width != each * kWarp || head_width % each != 0) return false;
  const int32_t lanes = head_width / each;
  return (lanes & (lanes - 1)) == 0 && lanes <= kWarp;
}

template <typename T>
void AttendRowsOf(Device& device, const AttendArgs& args, const AttendSpace& space) {
  const int32_t width = args.store.layout.width;
  if (Fits(8, width, args.heads)) return LaunchRows<T, 8>(device, args, space);
  if (Fits(16, width, args.heads)) return LaunchRows<T, 16>(device, args, space);
  LaunchAny<T>(device, args, space);
}

}  // namespace

size_t PartialBytes(int32_t rows, int32_t width) {
  return static_cast<size_t>(rows) * kMostSplits * (width + 2 * kWarp) * sizeof(float);
}

void AttendRows(Device& device, const AttendArgs& args, const AttendSpace& space) {
  if (args.store.layout.type == ElementType::kBF16) {
    AttendRowsOf<uint16_t>(device, args, space);
  } else {
    AttendRowsOf<float>(device, args, space);
  }
}

}  // namespace salient::cuda
