// Which rows leave after a layer: one block lists them in their order, by ballots.

#include "engine/core/cuda/list_rows.h"
#include "engine/depth/cuda/operations.h"

namespace salient::cuda {
namespace {

constexpr int kThreads = kListThreads;

__global__ void __launch_bounds__(kThreads) DecideExitsKernel(DecideExitsArgs args) {
  WaitForPrevious();
  ListRows(args.active, args.staying, args.staying_count, [&](int32_t row) {
    const bool leaves = Leaves(args, row);
    if (leaves) args.exit_at[row] = args.layer;
    return !leaves;
  });
}

__global__ void __launch_bounds__(kThreads) PickRowsKernel(PickRowsArgs args) {
  WaitForPrevious();
  ListRows(args.rows, args.picked, args.count, [&](int32_t row) { return IsPicked(args, row); });
}

__global__ void __launch_bounds__(kThreads) ResolveExitsKernel(ResolveExitsArgs args) {
  WaitForPrevious();
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= RowCount(args.rows)) return;
  const int32_t row = RowAt(args.rows, i);
  const ExitRule& rule = args.rules[row];
  if (rule.policy != args.policy) return;
  const float* logits = args.logits + static_cast<size_t>(i) * args.layers;
  int32_t best = 0;
  for (int32_t n = 1; n < args.layers; ++n) {
    if (logits[n] > logits[best]) best = n;
  }
  ExitRule& resolved = args.resolved[row];
  const int32_t at = max(rule.least, min(best + 1, rule.greatest));
  if (&resolved != &rule) {
    resolved.least = rule.least;
    resolved.greatest = rule.greatest;
    for (int n = 0; n < kMaxLayers; ++n) resolved.thresholds[n] = rule.thresholds[n];
  }
  resolved.policy = DepthPolicy::kFixed;
  resolved.at = at;
}

}  // namespace

void DecideExits(Device& device, const DecideExitsArgs& args) {
  Launch(device, {.threads = kThreads}, DecideExitsKernel, args);
}

void PickRows(Device& device, const PickRowsArgs& args) { Launch(device, {.threads = kThreads}, PickRowsKernel, args); }

void ResolveExits(Device& device, const ResolveExitsArgs& args) {
  const auto blocks = static_cast<unsigned>(CeilDiv(args.rows.capacity, kThreads));
  Launch(device, {.grid_x = blocks, .threads = kThreads}, ResolveExitsKernel, args);
}

}  // namespace salient::cuda
