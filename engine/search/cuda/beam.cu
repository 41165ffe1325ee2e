// A beam's next hypotheses: one block a chunk, the one of its first row. Every thread ranks some of the choices by
// counting those that come before it; one thread takes the first of them; all copy what the next hypotheses have read.

#include "engine/core/cuda/language.h"
#include "engine/search/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kMostChoices = kMaxBeam * CandidatesWanted(kMaxBeam);

// What a block knows of its chunk. Choice c is the token that follows hypothesis c / CandidatesWanted(width).
struct Chunk {
  double total[kMostChoices];
  Candidate candidate[kMostChoices];    // token < 0: none
  SearchState state[kMaxBeam];          // of the live hypotheses
  int32_t ranked[MostRanks(kMaxBeam)];  // the choice of a rank; -1: none
  int32_t next[kMaxBeam];               // the choices that are the next hypotheses
  int32_t next_count;

  __device__ BeamChoice Choice(int32_t c, int32_t width) const {
    return {total[c], c / CandidatesWanted(width), candidate[c]};
  }
};

// The live hypotheses and all that they may say next.
__device__ void Load(const AdvanceArgs& args, const Beam& beam, Chunk& chunk) {
  const auto thread = static_cast<int32_t>(threadIdx.x);
  const int32_t wanted = CandidatesWanted(beam.width);
  for (int32_t c = thread; c < beam.width * wanted; c += kThreads) {
    const int32_t row = beam.rows[c / wanted];
    const Candidate* candidates = args.candidates + static_cast<size_t>(row) * args.width;
    const bool can_be = args.goes_on[row] != 0 && CanBe(candidates[c % wanted]);
    chunk.candidate[c] = can_be ? candidates[c % wanted] : Candidate{-1, 0};
    chunk.total[c] = TotalWith(beam.total[c / wanted], chunk.candidate[c]);
  }
  if (thread < beam.width) chunk.state[thread] = args.StateOf(beam.rows[thread]);
  if (thread < MostRanks(beam.width)) chunk.ranked[thread] = -1;
}

__device__ void Rank(const Beam& beam, Chunk& chunk) {
  const int32_t count = beam.width * CandidatesWanted(beam.width);
  for (auto c = static_cast<int32_t>(threadIdx.x); c < count; c += kThreads) {
    if (chunk.candidate[c].token < 0) continue;
    const BeamChoice choice = chunk.Choice(c, beam.width);
    int32_t rank = 0;
    for (int32_t other = 0; other < count; ++other) {
      rank += chunk.candidate[other].token >= 0 && Before(chunk.Choice(other, beam.width), choice);
    }
    if (rank < MostRanks(beam.width)) chunk.ranked[rank] = c;
  }
}

// By one thread.
__device__ void TakeFirst(const AdvanceArgs& args, Beam& beam, Chunk& chunk) {
  int32_t next = 0, finished = beam.finished;
  for (int32_t rank = 0; rank < MostRanks(beam.width) && next < beam.width; ++rank) {
    const int32_t c = chunk.ranked[rank];
    if (c < 0) break;
    const bool ends = chunk.candidate[c].token == args.special.end;
    if (IsDropped(ends, rank, beam.width)) continue;
    if (ends) {
      ++finished;
    } else {
      chunk.next[next++] = c;
    }
  }
  beam.finished = finished;
  chunk.next_count = finished >= beam.width ? 0 : next;
}

// Next hypothesis i; by one thread.
__device__ void Write(const AdvanceArgs& args, Beam& beam, const Chunk& chunk, int32_t i) {
  const int32_t row = beam.rows[i];
  args.goes_on[row] = i < chunk.next_count;
  if (i >= chunk.next_count) return;
  const BeamChoice choice = chunk.Choice(chunk.next[i], beam.width);
  const SearchState next = After(chunk.state[choice.parent], choice.candidate.token, *args.scripts[row], args.special);
  beam.total[i] = choice.total;
  WriteNext(args, row, next, choice.candidate.token, KeyPosition(next.tokens, beam.width, i),
            beam.History(next.tokens, i));
}

__device__ void CopyHistories(const Beam& beam, const Chunk& chunk) {
  const int32_t step = chunk.state[0].tokens;
  for (int32_t i = 0; i < chunk.next_count; ++i) {
    const int32_t* read = beam.History(step, chunk.next[i] / CandidatesWanted(beam.width));
    int32_t* history = beam.History(step + 1, i);
    for (auto k = static_cast<int32_t>(threadIdx.x); k <= step; k += kThreads) history[k] = read[k];
    if (threadIdx.x == 0) history[step + 1] = KeyPosition(step + 1, beam.width, i);
  }
}

__global__ void __launch_bounds__(kThreads) AdvanceBeamsKernel(AdvanceArgs args) {
  WaitForPrevious();
  auto& chunk = *reinterpret_cast<Chunk*>(DynamicShared());
  const auto block = static_cast<int32_t>(blockIdx.x), thread = static_cast<int32_t>(threadIdx.x);
  if (block >= RowCount(args.scheduled)) return;
  const int32_t row = RowAt(args.scheduled, block);
  Beam* const beam = args.scripts[row]->beam;
  if (beam == nullptr || beam->rows[0] != row || args.goes_on[row] == 0) return;
  Load(args, *beam, chunk);
  __syncthreads();
  Rank(*beam, chunk);
  __syncthreads();
  if (thread == 0) TakeFirst(args, *beam, chunk);
  __syncthreads();
  if (thread < beam->width) Write(args, *beam, chunk, thread);
  CopyHistories(*beam, chunk);
}

}  // namespace

void AdvanceBeams(Device& device, const AdvanceArgs& args) {
  Launch(device,
         {.grid_x = static_cast<unsigned>(args.scheduled.capacity), .threads = kThreads, .shared_bytes = sizeof(Chunk)},
         AdvanceBeamsKernel, args);
}

}  // namespace salient::cuda
