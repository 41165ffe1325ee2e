// The CPU's linear layers: which kernel is used, and how a layer is divided among the threads.
//
// Rows are processed 512 at a time: first prepared into scratch memory, then multiplied. The multiplication is divided
// along the outputs into slices that fit the second-level cache, so that each weight is read from memory once. It is
// divided along the rows only if there are too few slices for the threads. The division does not change any sum.

#include <algorithm>

#include "engine/base/cpu_features.h"
#include "engine/base/thread_pool.h"
#include "engine/linear/cpu/operations.h"
#include "engine/linear/cpu/packed_linear.h"

namespace salient {
namespace {

using linear_internal::AlignedBytes;
using linear_internal::CpuLinear;
using linear_internal::kBlockRows;
using linear_internal::kChunkBytes;
using linear_internal::Kernel;
using linear_internal::Kernels;
using linear_internal::Multiplication;
using linear_internal::PackedWeights;
using linear_internal::Preparation;

constexpr int32_t kRowsAtOnce = 512;
constexpr int32_t kGroupPanels = 4;  // a slice has a multiple of this many panels
constexpr size_t kSliceBytes = 256 << 10;
// A pass reads the weights once, for some 8 rows; 256 KB take about two microseconds. For less than that, or for fewer
// inputs to prepare than kSerialBytes, the help of another thread costs more than it saves.
constexpr int32_t kPassRows = 8;
constexpr size_t kSerialBytes = 256 << 10;
constexpr int64_t kSerialInputs = 16 << 10;
constexpr size_t kTaskBytes = 128 << 10;
// The greatest product of vpdpbusd is 255 * 127, so a sum of 66 thousand products stays below 2^31.
constexpr int32_t kMaxInt8Inputs = 65536;

int32_t CeilDiv(int64_t a, int64_t b) { return static_cast<int32_t>((a + b - 1) / b); }
int32_t RoundUp(int64_t a, int64_t multiple) { return static_cast<int32_t>(CeilDiv(a, multiple) * multiple); }

// Scratch memory of one thread. It grows to the largest layer that the thread has computed, and is not freed.
struct Scratch {
  AlignedBytes blocks, scale;
};

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

const Kernels& KernelsFor(CpuIsa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case CpuIsa::kAmx:
      return linear_internal::kAmxKernels;
    case CpuIsa::kAvx512:
      return linear_internal::kAvx512Kernels;
    case CpuIsa::kAvx2:
      return linear_internal::kAvx2Kernels;
#endif
    default:
      return linear_internal::kBaselineKernels;
  }
}

// The best kernel for many rows.
const Kernel& KernelFor(ComputeType type, CpuIsa isa) {
  switch (type) {
    case ComputeType::kBF16:
      return KernelsFor(isa).bf16;
    case ComputeType::kInt8:
      return KernelsFor(isa).int8;
    default:
      return KernelsFor(std::min(isa, CpuIsa::kAvx512)).f32;
  }
}

void Prepare(const Kernel& kernel, const Preparation& all, ThreadPool& pool) {
  if (static_cast<int64_t>(all.last_row) * all.inputs <= kSerialInputs || all.last_row <= kBlockRows) {
    kernel.prepare(all);
    return;
  }
  pool.ParallelFor(CeilDiv(all.last_row, kBlockRows), [&](int64_t block, int) {
    Preparation part = all;
    part.first_row = static_cast<int32_t>(block) * kBlockRows;
    part.last_row = std::min(part.first_row + kBlockRows, all.last_row);
    kernel.prepare(part);
  });
}

// How the work is divided: slices of so many panels, and parts of so many rows.
struct Division {
  int32_t slices, slice_panels, parts, part_rows;
};

// `bytes`: the weights that are read in all.
Division Divide(const PackedWeights& weights, int32_t rows, size_t bytes, int threads) {
  const auto wanted = static_cast<int32_t>(std::clamp<size_t>(bytes / kTaskBytes, threads, 4 * threads));
  const int32_t groups = CeilDiv(weights.panels, kGroupPanels);
  const auto fitting = static_cast<int32_t>(std::max<size_t>(1, kSliceBytes / (weights.panel_bytes * kGroupPanels)));
  const int32_t slice_groups = std::clamp(groups / wanted, 1, fitting);
  Division division;
  division.slice_panels = slice_groups * kGroupPanels;
  division.slices = CeilDiv(groups, slice_groups);
  // A part is a whole number of pairs of blocks.
  const int32_t pairs = CeilDiv(rows, 2 * kBlockRows);
  const int32_t part_pairs = CeilDiv(pairs, std::min(pairs, CeilDiv(wanted, division.slices)));
  division.part_rows = part_pairs * 2 * kBlockRows;
  division.parts = CeilDiv(rows, division.part_rows);
  return division;
}

void Multiply(const Kernel& kernel, const Multiplication& all, ThreadPool& pool) {
  const PackedWeights& weights = *all.weights;
  const size_t bytes = weights.panels * weights.panel_bytes * CeilDiv(all.last_row, kPassRows);
  if (bytes <= kSerialBytes) {
    kernel.multiply(all);
    return;
  }
  const Division division = Divide(weights, all.last_row, bytes, pool.threads());
  const struct {
    const Kernel& kernel;
    const Multiplication& all;
    const Division& division;
  } context = {kernel, all, division};
  pool.ParallelFor(static_cast<int64_t>(division.slices) * division.parts, [&context](int64_t task, int) {
    const Division& cut = context.division;
    const auto slice = static_cast<int32_t>(task / cut.parts);
    const auto part = static_cast<int32_t>(task % cut.parts);
    Multiplication job = context.all;
    job.first_panel = slice * cut.slice_panels;
    job.last_panel = std::min(job.first_panel + cut.slice_panels, job.weights->panels);
    job.first_row = part * cut.part_rows;
    job.last_row = std::min(job.first_row + cut.part_rows, context.all.last_row);
    context.kernel.multiply(job);
  });
}

// For one row, vector instructions are as fast as the second-level cache and tiles are not: 1.6 against 1.9 us at 512 x
// 512. Only int8 may change the kernel with the number of rows, because only int8 gives the same bits with both.
const Kernel& SingleRowKernelFor(ComputeType type, CpuIsa isa) {
  return KernelFor(type, type == ComputeType::kInt8 ? std::min(isa, CpuIsa::kAvx512) : isa);
}

}  // namespace

ComputeType ResolveComputeCpu(ComputeType type) {
  if (type != ComputeType::kAuto) return type;
  return DetectCpuIsa() >= CpuIsa::kAvx2 ? ComputeType::kInt8 : ComputeType::kF32;
}

std::unique_ptr<PackedLinear> PackLinearCpu(const LinearWeights& weights, ComputeType type, ThreadPool& pool) {
  const CpuIsa isa = DetectCpuIsa();
  type = ResolveComputeCpu(type);
  if (type == ComputeType::kInt8 && weights.inputs > kMaxInt8Inputs) type = ComputeType::kF32;
  return std::make_unique<CpuLinear>(weights, type, KernelFor(type, isa), SingleRowKernelFor(type, isa), pool);
}

std::unique_ptr<PackedLinear> PickOutputsCpu(const PackedLinear& layer, std::span<const int32_t> outputs,
                                             ThreadPool& pool) {
  return std::make_unique<CpuLinear>(static_cast<const CpuLinear&>(layer), outputs, pool);
}

void LinearCpu(const LinearArgs& args, ThreadPool& pool) {
  const auto& layer = static_cast<const CpuLinear&>(*args.weight);
  const PackedWeights& weights = layer.weights();
  const int32_t rows = args.rows.size();
  if (rows <= 0) return;
  const Kernel& kernel = layer.kernel(rows);

  Scratch& scratch = ThreadScratch();
  const int32_t most = std::min(rows, kRowsAtOnce);
  const int32_t chunks = weights.padded_inputs / kernel.chunk_inputs;
  scratch.blocks.Reserve(static_cast<size_t>(RoundUp(most, kBlockRows)) * chunks * kChunkBytes);
  scratch.scale.Reserve(most * sizeof(float));
  auto* scale = reinterpret_cast<float*>(scratch.scale.data());

  const int32_t* output_row = args.scatter ? args.rows.index : nullptr;
  for (int32_t first = 0; first < rows; first += kRowsAtOnce) {
    const int32_t count = std::min(kRowsAtOnce, rows - first);
    const int32_t height = std::min(count, kBlockRows);
    Preparation preparation;
    preparation.input = args.input + static_cast<size_t>(first) * weights.inputs;
    preparation.inputs = weights.inputs;
    preparation.last_row = count;
    preparation.height = height;
    preparation.chunks = chunks;
    preparation.blocks = scratch.blocks.data();
    preparation.scale = scale;
    Prepare(kernel, preparation, pool);

    Multiplication job;
    job.weights = &weights;
    job.blocks = scratch.blocks.data();
    job.scale = scale;
    job.height = height;
    job.chunks = chunks;
    job.last_row = count;
    job.last_panel = weights.panels;
    job.activation = args.activation;
    job.accumulate = args.accumulate;
    job.output = output_row == nullptr ? args.output + static_cast<size_t>(first) * weights.outputs : args.output;
    job.output_row = output_row == nullptr ? nullptr : output_row + first;
    Multiply(kernel, job, pool);
  }
}

}  // namespace salient
