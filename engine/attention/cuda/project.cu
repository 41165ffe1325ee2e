// What a block of a layer begins with, in one kernel: the norm of a step's rows, up to four products of them, their
// rotation, and the way to the key store (engine/attention/project.h).
//
// A block of threads takes 16 or 32 rows and two tiles of 8 outputs of one of the products. It reads its rows whole,
// norms them in registers, a warp a row, and puts them into shared memory as first operands. From there on it is
// LinearFewKernel (few.h): four warps divide the inputs among them, and their sums are added in a fixed order. Rotation
// pairs the components c and c + half of a head. So the two tiles of a block lie half a head apart, and a lane that
// finishes component c has both.
//
// What it saves. A layer's self-attention began with a norm, and for keys and values, queries, and those of selection
// a product, a rotation and an append each: 6 launches, 11 with selection. Now it is one, cross-attention's 3 or 5 are
// one, and the feed-forward block's norm is in the product before its activation. A launch that waits for the one
// before costs 1 to 2 us on an H100 also where launches overlap, because nothing is read between a kernel's end and
// the next one's first loads. Against that every block norms its rows anew: of 512 components a warp reads 2 KB, and
// takes 10 shuffles for two sums: some 0.2 us for the two to four rows of a warp, whose loads are under way together.
//
// Models with post-norm norm a block's sum. The next block's projections do that here, where a model with pre-norm has
// its norm, and one more block for each 16 or 32 rows writes the normed states beside the sums, for the residual to go
// on with: 8 launches a layer instead of 11. In the product's own epilogue a norm would need the blocks that divide the
// outputs to wait for each other, a fence, a count and a load: as long as the launch that it saves.
//
// What it reads. With 64 rows of 512 states and 1,536 outputs there are 96 pairs of tiles. 32 rows a block make 192
// blocks, a wave of two on some of 132 multiprocessors; each reads 64 KB of states and 16 KB of weights from the
// second-level cache, 15 MB together, 3 us at 5.5 TB/s. 64 rows a block would be 96 blocks of 144 KB each, on which 36
// multiprocessors have no part. Where 16 rows a block still fit in that wave (few outputs), blocks take 16.
//
// Where a row goes to and how far it is turned depends on its page table: three loads one after the other, which one
// thread a row makes while the states are read.

#include <algorithm>

#include "engine/attention/cuda/operations.h"
#include "engine/attention/cuda/quantise.h"
#include "engine/core/cuda/pages.h"
#include "engine/linear/cuda/epilogue.h"
#include "engine/linear/cuda/few.h"
#include "engine/linear/cuda/packed.h"
#include "engine/norm/cuda/norm_row.h"

namespace salient::cuda {
namespace {

using namespace few;  // NOLINT: the kernel's own parts

constexpr int kMostProjections = 4;
constexpr int kSides = kWarps / FewOutputs::kSlices;  // tiles of a block
constexpr int32_t kWidest = 1024;                     // inputs
static_assert(kSides == 2);
enum class Target : int32_t { kOutput, kRounded, kPagesF32, kPagesBF16, kSelection };

struct Projected {
  WeightsInFragments weights;
  Rows rows;
  Activation activation;
  Target target;
  float* output;
  // The first `turned` outputs, in heads of 2 * half, are rotated.
  const int32_t* rotary_positions;
  const double* turns;
  int32_t turned, half;
  // Of a target in the key store.
  PagesView pages;
  const KeyView* views;
  const int32_t* positions;
  float key_inverse_step;
  int32_t first_block;  // of the launch

  // The two tiles of pair p: half a head apart where they are rotated, else neighbours.
  __device__ int32_t Tile(int32_t pair, int32_t side) const {
    const int32_t first = 2 * pair;
    if (first * kFragmentOutputs >= turned) return first + side;
    const int32_t apart = half / kFragmentOutputs;
    return pair / apart * 2 * apart + pair % apart + side * apart;
  }
};

struct Projecting {
  const float* states;
  const float* norm_weight;  // null: no norm
  const float* norm_bias;
  float epsilon;
  int32_t width;
  Rows rows;
  float* normed;   // by row number: gets the normed states, too; null: nobody needs them
  int32_t blocks;  // of the projections; the launch's next one is for `normed`
  int32_t count;
  Projected projections[kMostProjections];
};

// What a block knows of one of its rows.
struct Place {
  unsigned char* to;  // the row's first result
  int32_t position;   // by which it is turned
};

__device__ Place PlaceOf(const Projected& made, int32_t i) {
  const int32_t row = RowAt(made.rows, i);
  Place place = {nullptr, made.rotary_positions == nullptr ? 0 : made.rotary_positions[row]};
  switch (made.target) {
    case Target::kOutput:
      place.to = reinterpret_cast<unsigned char*>(made.output + static_cast<size_t>(i) * made.weights.outputs);
      break;
    case Target::kRounded:
      place.to = reinterpret_cast<unsigned char*>(reinterpret_cast<uint16_t*>(made.output) +
                                                  static_cast<size_t>(i) * made.weights.outputs);
      break;
    case Target::kPagesF32:
    case Target::kPagesBF16:
      place.to = made.pages.Key<unsigned char>(made.views[row].pages, made.positions[row]);
      break;
    case Target::kSelection:
      place.to = reinterpret_cast<unsigned char*>(made.pages.SelectionKey(made.views[row].pages, made.positions[row]));
  }
  return place;
}

// Two results next to each other, of outputs n and n + 1; n is even.
__device__ void StorePair(const Projected& made, unsigned char* to, int32_t n, float low, float high) {
  const bool both = n + 1 < made.weights.outputs;
  switch (made.target) {
    case Target::kOutput: {
      float* at = reinterpret_cast<float*>(to) + n;
      if (both && reinterpret_cast<uintptr_t>(at) % sizeof(float2) == 0) {
        *reinterpret_cast<float2*>(at) = {low, high};
        return;
      }
      at[0] = low;
      if (both) at[1] = high;
      return;
    }
    case Target::kRounded:  // outputs are even
      *reinterpret_cast<uint32_t*>(reinterpret_cast<uint16_t*>(to) + n) = PackBF16(low, high);
      return;
    case Target::kPagesF32:
      *reinterpret_cast<float2*>(reinterpret_cast<float*>(to) + n) = {low, high};
      return;
    case Target::kPagesBF16:
      *reinterpret_cast<uint32_t*>(reinterpret_cast<uint16_t*>(to) + n) =
          BF16OfFloat(low) | static_cast<uint32_t>(BF16OfFloat(high)) << 16;
      return;
    case Target::kSelection: {
      const auto first = static_cast<uint32_t>(Quantise(low, made.key_inverse_step)) & 0xff;
      const auto second = static_cast<uint32_t>(Quantise(high, made.key_inverse_step)) & 0xff;
      *reinterpret_cast<uint16_t*>(to + static_cast<size_t>(n / 4) * kSelectionBlock * 4 + n % 4) =
          static_cast<uint16_t>(first | second << 8);
    }
  }
}

// Reads the block's rows, norms them, and puts them into shared memory as first operands. A warp's rows are on their
// way together. Rows and inputs that are not there are zeros.
template <typename Format, int kRowTiles, int kGroups>
__device__ void HoldNormed(const Projecting& args, const Projected& made, int32_t chunks, int32_t first_row,
                           int32_t rows, RowScale* scales, uint4* held) {
  constexpr int kRowsOfWarp = kRowTiles * 16 / kWarps;
  constexpr int kTogether = 2;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
#pragma unroll 1
  for (int from = 0; from < kRowsOfWarp; from += kTogether) {
    HeldRow<kGroups> states[kTogether];
#pragma unroll
    for (int a = 0; a < kTogether; ++a) {
      const int32_t i = first_row + warp * kRowsOfWarp + from + a;
      if (i < rows) {
        states[a].Load(args.states + static_cast<size_t>(RowAt(made.rows, i)) * args.width, args.width);
      } else {
        states[a].Clear();
      }
    }
#pragma unroll
    for (int a = 0; a < kTogether; ++a) {
      const int32_t r = warp * kRowsOfWarp + from + a;
      if (args.norm_weight != nullptr) {
        states[a].Norm(args.norm_weight, args.norm_bias, args.epsilon, args.width);
      }
      RowScale scale = {};
      if (Format::kScaled) {
        int32_t bits = 0;
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
#pragma unroll
          for (int c = 0; c < 4; ++c) bits = max(bits, MagnitudeBits(states[a].values[g][c]));
        }
        scale = ScaleOf(LargestBits(bits));
        if (lane == 0) scales[r] = scale;
      }
      auto* words = reinterpret_cast<uint32_t*>(held);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
#pragma unroll
        for (int c = 0; c < 4; c += Format::kPerWord) {
          const int32_t word = (HeldRow<kGroups>::First(g) + c) / Format::kPerWord, step = word / kStepWords;
          if (step >= 2 * chunks) continue;
          float values[Format::kPerWord];
#pragma unroll
          for (int v = 0; v < Format::kPerWord; ++v) values[v] = states[a].values[g][c + v];
          const int32_t at = HeldAt<kRowTiles>(step, r / 16, r % 8 * 4 + word % 4);
          words[at * 4 + word % kStepWords / 4 * 2 + r % 16 / 8] = Format::Word(values, scale);
        }
      }
    }
  }
}

// Writes the normed states of the block's rows, a warp a row, to where they go on.
template <int kRowTiles, int kGroups>
__device__ void KeepNormed(const Projecting& args) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int32_t first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  const int32_t rows = min(RowCount(args.rows), first_row + kRowTiles * 16);
  for (int32_t i = first_row + warp; i < rows; i += kWarps) {
    const size_t at = static_cast<size_t>(RowAt(args.rows, i)) * args.width;
    HeldRow<kGroups> row;
    row.Load(args.states + at, args.width);
    row.Norm(args.norm_weight, args.norm_bias, args.epsilon, args.width);
    row.Store(args.normed + at, args.width);
  }
}

// Adds up the warps' sums, in the order of the slices, and finishes them: a warp takes eight rows of a row tile.
template <typename Format, int kRowTiles>
__device__ void FinishPairs(const Projected& made, int32_t pair, int32_t first_row, int32_t rows, const Place* places,
                            const RowScale* scales, const typename Format::Sum* sums) {
  using Sum = typename Format::Sum;
  constexpr int kOwn = kRowTiles * 4;
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int item = warp; item < 2 * kRowTiles; item += kWarps) {
    const int r = item / 2 * 16 + item % 2 * 8 + lane / 4;
    if (first_row + r >= rows) continue;
    const RowScale scale = Format::kScaled ? scales[r] : RowScale{};
    float results[kSides][2];
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const Sum* own = sums + (side * FewOutputs::kSlices * kOwn + item * 2 + c) * kWarp + lane;
        const Sum sum = SumOfSlices<FewOutputs>(own, kOwn * kWarp);
        const int32_t n = made.Tile(pair, side) * kFragmentOutputs + lane % 4 * 2 + c;
        results[side][c] =
            n < made.weights.outputs ? Activate(Format::Result(made.weights, scale, n, sum), made.activation) : 0.0f;
      }
    }
    const Place place = places[r];
    const int32_t first = made.Tile(pair, 0) * kFragmentOutputs + lane % 4 * 2;
    if (first < made.turned) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        RotatePair(place.position, made.turns[(first + c) % (2 * made.half)], &results[0][c], &results[1][c]);
      }
    }
#pragma unroll
    for (int side = 0; side < kSides; ++side) {
      const int32_t n = made.Tile(pair, side) * kFragmentOutputs + lane % 4 * 2;
      if (n < made.weights.outputs) StorePair(made, place.to, n, results[side][0], results[side][1]);
    }
  }
}

// Rows of more than 512 states take the registers of two blocks.
template <typename Format, int kRowTiles, int kGroups>
__global__ void __launch_bounds__(kThreads, kGroups > 4 ? 1 : 2)
    ProjectKernel(const __grid_constant__ Projecting args) {
  using Sum = typename Format::Sum;
  constexpr int kOwn = kRowTiles * 4;
  if (static_cast<int32_t>(blockIdx.x) == args.blocks) {
    WaitForPrevious();
    return KeepNormed<kRowTiles, kGroups>(args);
  }
  int which = args.count - 1;
  while (static_cast<int32_t>(blockIdx.x) < args.projections[which].first_block) --which;
  const Projected& made = args.projections[which];
  const int32_t pair = static_cast<int32_t>(blockIdx.x) - made.first_block;
  const auto thread = static_cast<int32_t>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int32_t slice = warp % FewOutputs::kSlices, first_row = static_cast<int32_t>(blockIdx.y) * kRowTiles * 16;
  const int32_t chunks = CeilDiv(args.width, kFragmentWords * Format::kPerWord);
  WarpWeights<FewOutputs> weights(made.weights, chunks, made.Tile(pair, warp / FewOutputs::kSlices));
  if (first_row < kLikelyRows) weights.LoadAhead(slice, chunks);
  WaitForPrevious();
  __shared__ Place places[kRowTiles * 16];
  __shared__ RowScale scales[Format::kScaled ? kRowTiles * 16 : 1];
  const int32_t rows = RowCount(made.rows);
  if (first_row >= rows) return;
  if (first_row >= kLikelyRows) weights.LoadAhead(slice, chunks);
  if (thread < kRowTiles * 16 && first_row + thread < rows) places[thread] = PlaceOf(made, first_row + thread);
  auto* held = reinterpret_cast<uint4*>(DynamicShared());
  HoldNormed<Format, kRowTiles, kGroups>(args, made, chunks, first_row, rows, scales, held);
  __syncthreads();
  Sum sums[1][kRowTiles][4] = {};
  Multiply<FewOutputs, kRowTiles>(weights, held, 0, chunks, slice, sums);
  __syncthreads();  // the rows are no longer read
  auto* scratch = reinterpret_cast<Sum*>(held);
#pragma unroll
  for (int s = 0; s < kOwn; ++s) scratch[(warp * kOwn + s) * kWarp + lane] = sums[0][s / 4][s % 4];
  __syncthreads();
  FinishPairs<Format, kRowTiles>(made, pair, first_row, rows, places, scales, scratch);
}

template <typename Format, int kRowTiles, int kGroups>
void LaunchProject(Device& device, const Projecting& args, int32_t blocks, int32_t capacity) {
  const int32_t steps = 2 * CeilDiv(args.width, kFragmentWords * Format::kPerWord);
  Launch(device,
         {.grid_x = static_cast<unsigned>(blocks + (args.normed != nullptr ? 1 : 0)),
          .grid_y = static_cast<unsigned>(CeilDiv(capacity, kRowTiles * 16)),
          .threads = kThreads,
          .shared_bytes = std::max(HeldBytes<kRowTiles>(steps), size_t{kThreads} * kRowTiles * 4 * sizeof(float))},
         ProjectKernel<Format, kRowTiles, kGroups>, args);
}

template <typename Format>
void ProjectOf(Device& device, const Projecting& args, int32_t blocks, int32_t capacity) {
  const bool narrow = args.width <= HeldRow<4>::kWidest;
  if (RowTilesFor(device, blocks, capacity) == 1) {
    return narrow ? LaunchProject<Format, 1, 4>(device, args, blocks, capacity)
                  : LaunchProject<Format, 1, 8>(device, args, blocks, capacity);
  }
  return narrow ? LaunchProject<Format, 2, 4>(device, args, blocks, capacity)
                : LaunchProject<Format, 2, 8>(device, args, blocks, capacity);
}

bool CanTurn(const Projection& projection) {
  if (projection.rotary_positions == nullptr) return true;
  const int32_t half = projection.head_width / 2;
  return projection.head_width % 2 == 0 && half % kFragmentOutputs == 0 &&
         projection.heads * projection.head_width <= projection.weight->outputs();
}

// Which kernel computes a projection follows from sizes and kinds alone, so that a row's bits depend on nothing else.
bool Takes(const ProjectArgs& args) {
  const bool counted_on_device = args.norm.rows.count != nullptr;
  if (!counted_on_device || args.norm.width > kWidest || args.norm.set != nullptr || args.norm.scatter ||
      args.projections.size() > kMostProjections) {
    return false;
  }
  return std::all_of(args.projections.begin(), args.projections.end(), [&](const Projection& projection) {
    const auto& weight = static_cast<const CudaLinear&>(*projection.weight);
    if (!weight.has_fragments() || weight.inputs() != args.norm.width || weight.outputs() > kFewOutputs) return false;
    if (projection.selection != nullptr && weight.outputs() % 4 != 0) return false;
    return CanTurn(projection);
  });
}

}  // namespace

bool Project(Device& device, const ProjectArgs& args, const TurnsOf& turns_of, bool rounded) {
  if (!Takes(args)) return false;
  Projecting made = {.states = args.norm.input,
                     .norm_weight = args.norm.weight,
                     .norm_bias = args.norm.bias,
                     .epsilon = args.norm.epsilon,
                     .width = args.norm.width,
                     .rows = args.norm.rows,
                     .normed = args.normed,
                     .blocks = 0,
                     .count = 0,
                     .projections = {}};
  int32_t blocks = 0, capacity = 0;
  for (const Projection& projection : args.projections) {
    const auto& weight = static_cast<const CudaLinear&>(*projection.weight);
    Projected& one = made.projections[made.count++];
    one.weights = weight.fragments();
    one.rows = projection.rows;
    one.activation = projection.activation;
    one.output = projection.output;
    if (rounded) one.target = Target::kRounded;
    one.first_block = blocks;
    if (projection.rotary_positions != nullptr) {
      one.rotary_positions = projection.rotary_positions;
      one.half = projection.head_width / 2;
      one.turned = projection.heads * projection.head_width;
      one.turns = turns_of(one.half, projection.base);
    }
    if (const AppendKeyValueArgs* append = projection.key_value;
        append != nullptr && append->store.layout.type != ElementType::kInt8) {
      one.target = append->store.layout.type == ElementType::kF32 ? Target::kPagesF32 : Target::kPagesBF16;
      one.pages = PagesView(append->store, append->layer);
      one.views = append->views;
      one.positions = append->positions;
    }
    if (const AppendSelectionArgs* append = projection.selection; append != nullptr) {
      one.target = Target::kSelection;
      one.pages = PagesView(append->store, 0, append->group);
      one.views = append->views;
      one.positions = append->positions;
      one.key_inverse_step = append->key_inverse_step;
    }
    blocks += CeilDiv(CeilDiv(weight.outputs(), kFragmentOutputs), kSides);
    capacity = std::max(capacity, projection.rows.capacity);
  }
  made.blocks = blocks;
  capacity = std::max(capacity, args.normed != nullptr ? made.rows.capacity : 0);
  if (static_cast<const CudaLinear&>(*args.projections[0].weight).type() == ComputeType::kInt8) {
    ProjectOf<Int8>(device, made, blocks, capacity);
  } else {
    ProjectOf<BF16>(device, made, blocks, capacity);
  }
  // Of int8 keys a head's scale is known when all of it is: an operation of its own.
  for (const Projection& projection : args.projections) {
    if (projection.key_value != nullptr && projection.key_value->store.layout.type == ElementType::kInt8) {
      AppendKeyValue(device, *projection.key_value);
    }
  }
  return true;
}

}  // namespace salient::cuda
