// Linear layers: this engine's kernels beside oneDNN's bare matrix product, over the shapes of the models.
//
//   linear_bench --benchmark_filter='int8/512x2048' --benchmark_repetitions=5
//
// Names are <who>/<type>/<K>x<N>/rows:<M>/threads:<T>. "oneDNN" is one primitive for the whole product on one thread,
// without quantising inputs, scales, bias and activation, all of which "salient" includes. GB/s counts the weights
// alone, which is what a few rows cost; TOPS counts 2 M K N. On a shared machine compare the minimum of repetitions.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/thread_pool.h"
#include "engine/linear/linear.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace salient {
namespace {

struct Shape {
  int32_t inputs, outputs, rows;
  ComputeType type;
};

int32_t BytesOf(ComputeType type) { return type == ComputeType::kInt8 ? 1 : type == ComputeType::kBF16 ? 2 : 4; }

const char* NameOf(ComputeType type) {
  return type == ComputeType::kInt8 ? "int8" : type == ComputeType::kBF16 ? "bf16" : "f32";
}

// Aligned as DeviceMemory is: a vector that crosses cache lines costs twice.
struct Free {
  void operator()(float* values) const { std::free(values); }
};
using Floats = std::unique_ptr<float[], Free>;

Floats RandomFloats(size_t size) {
  std::minstd_rand generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(static_cast<float*>(std::aligned_alloc(64, (size * sizeof(float) + 63) / 64 * 64)));
  for (size_t i = 0; i < size; ++i) values[i] = uniform(generator);
  return values;
}

void SetCounters(benchmark::State& state, const Shape& shape) {
  const double weights = static_cast<double>(shape.inputs) * shape.outputs;
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["GB/s"] = benchmark::Counter(weights * BytesOf(shape.type) * 1e-9, rate);
  state.counters["TOPS"] = benchmark::Counter(2 * weights * shape.rows * 1e-12, rate);
}

void Salient(benchmark::State& state, Shape shape, int threads) {
  ThreadPool pool(threads);
  const auto weight = RandomFloats(static_cast<size_t>(shape.inputs) * shape.outputs);
  const auto bias = RandomFloats(shape.outputs);
  const LinearWeights weights = {weight.get(), bias.get(), shape.inputs, shape.outputs};
  const auto packed = PackLinearCpu(weights, shape.type, pool);
  const auto input = RandomFloats(static_cast<size_t>(shape.rows) * shape.inputs);
  const auto output = RandomFloats(static_cast<size_t>(shape.rows) * shape.outputs);
  LinearArgs args;
  args.weight = packed.get();
  args.rows = Rows::First(shape.rows);
  args.input = input.get();
  args.output = output.get();
  LinearCpu(args, pool);
  for (auto _ : state) {
    LinearCpu(args, pool);
    benchmark::ClobberMemory();
  }
  SetCounters(state, shape);
}

void OneDnn(benchmark::State& state, Shape shape) {
  using dnnl::memory;
  omp_set_num_threads(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const bool int8 = shape.type == ComputeType::kInt8;
  const auto in_type = int8                               ? memory::data_type::u8
                       : shape.type == ComputeType::kBF16 ? memory::data_type::bf16
                                                          : memory::data_type::f32;
  const auto weight_type = int8 ? memory::data_type::s8 : in_type;
  const auto out_type = int8 ? memory::data_type::s32 : memory::data_type::f32;
  const memory::desc x({shape.rows, shape.inputs}, in_type, memory::format_tag::ab);
  const memory::desc w({shape.inputs, shape.outputs}, weight_type, memory::format_tag::any);
  const memory::desc y({shape.rows, shape.outputs}, out_type, memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, w, y), engine);
  const dnnl::matmul product(description);
  memory x_memory(x, engine), w_memory(description.weights_desc(), engine), y_memory(y, engine);
  for (memory* each : {&x_memory, &w_memory, &y_memory}) {
    std::fill_n(static_cast<uint8_t*>(each->get_data_handle()), each->get_desc().get_size(), uint8_t{1});
  }
  const std::unordered_map<int, memory> args = {
      {DNNL_ARG_SRC, x_memory}, {DNNL_ARG_WEIGHTS, w_memory}, {DNNL_ARG_DST, y_memory}};
  product.execute(stream, args);
  for (auto _ : state) {
    product.execute(stream, args);
    stream.wait();
    benchmark::ClobberMemory();
  }
  SetCounters(state, shape);
  state.SetLabel(description.impl_info_str());
}

double Least(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

void Register(const Shape& shape) {
  const std::string name = std::string("/") + NameOf(shape.type) + "/" + std::to_string(shape.inputs) + "x" +
                           std::to_string(shape.outputs) + "/rows:" + std::to_string(shape.rows) + "/threads:";
  const auto configure = [](benchmark::internal::Benchmark* benchmark) {
    benchmark->UseRealTime()->Unit(benchmark::kMicrosecond)->ComputeStatistics("min", Least);
  };
  for (int threads : {1, 2}) {
    configure(
        benchmark::RegisterBenchmark(("salient" + name + std::to_string(threads)).c_str(), Salient, shape, threads));
  }
  configure(benchmark::RegisterBenchmark(("oneDNN" + name + "1").c_str(), OneDnn, shape));
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  using salient::ComputeType;
  for (ComputeType type : {ComputeType::kInt8, ComputeType::kBF16, ComputeType::kF32}) {
    for (const auto& [inputs, outputs] : {std::pair(256, 256),
                                          {256, 1024},
                                          {1024, 256},
                                          {256, 8000},
                                          {512, 512},
                                          {512, 2048},
                                          {2048, 512},
                                          {512, 32000}}) {
      for (int32_t rows : {1, 4, 16, 64, 256, 2048}) salient::Register({inputs, outputs, rows, type});
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
