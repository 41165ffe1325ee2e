// Compiled, never run: what the seam passes to kernels must be plain data that a device can hold and read. A backend
// for CUDA takes these by value or by device pointer, so none may own memory or have a vtable.

#include <type_traits>

#include "engine/attention/attend.h"
#include "engine/attention/select.h"
#include "engine/depth/exit.h"
#include "engine/depth/fill.h"
#include "engine/linear/linear.h"
#include "engine/norm/norm.h"
#include "engine/search/candidates.h"

namespace salient {
namespace {

template <typename... Words>
constexpr bool kPlain = (std::is_trivially_copyable_v<Words> && ...);

static_assert(kPlain<Rows, KeyView, KeyList, SelectionRule, ExitRule, FillLedger, AttentionTally, Candidate, TokenConstraint>);
static_assert(kPlain<KvPages, KvLayout, SpecialTokens>);
static_assert(kPlain<AttendArgs, SelectArgs, AppendKeyValueArgs, AppendSelectionArgs>);
static_assert(kPlain<EmbedArgs, LayerNormArgs, RotateArgs, GatherRowsArgs, MeanRowsArgs, LinearArgs>);
static_assert(kPlain<DecideExitsArgs, ResolveExitsArgs, CollectFillsArgs, KeepExitStatesArgs>);
static_assert(kPlain<CandidatesArgs, TopProbabilityArgs>);

// How a kernel of such a backend reads its rows: the count from device memory, so that the host never waits for it.
__global__ void CountKept(Rows rows, const KeyView* views, const KeyList* lists, AttentionTally* tallies) {
  const int size = rows.count == nullptr ? rows.capacity : *rows.count;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    const int row = rows.index == nullptr ? i : rows.index[i];
    tallies[row].visible += views[row].length;
    tallies[row].attended += lists[row].count == kEveryKey ? views[row].length : lists[row].count;
  }
}

}  // namespace

void LaunchCountKept(const AttendArgs& args, cudaStream_t stream) {
  CountKept<<<(args.rows.capacity + 127) / 128, 128, 0, stream>>>(args.rows, args.views, args.lists, args.tallies);
}

}  // namespace salient
