// Linear layers, ours and oneDNN's, over the shapes of Transformer base: linear/<type>/<K>x<N>/rows:<M>, oneDNN/...
//
// Calls use as many layers in turn as a decoding step does, so that weights come from the same cache or memory as in
// use. oneDNN's time is that of one primitive, the product alone on one thread. Ours also quantises inputs, and applies
// scales and a bias.

#include <omp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "benchmarks/operations/common.h"
#include "engine/base/thread_pool.h"
#include "engine/linear/cpu/operations.h"
#include "oneapi/dnnl/dnnl.hpp"

namespace salient::benchmarks {
namespace {

constexpr double kStepBytes = 32 << 20;  // the weights of all layers in a step

struct Shape {
  int32_t inputs, outputs, rows;
  ComputeType type;

  double weight_bytes() const {
    return static_cast<double>(inputs) * outputs *
           (type == ComputeType::kInt8   ? 1
            : type == ComputeType::kBF16 ? 2
                                         : 4);
  }
  int32_t layers() const { return static_cast<int32_t>(std::max(1.0, kStepBytes / weight_bytes())); }
  std::string name() const {
    return std::string(NameOf(type)) + "/" + std::to_string(inputs) + "x" + std::to_string(outputs) +
           "/rows:" + std::to_string(rows);
  }
  Work work() const {
    const double states = 4.0 * rows * (inputs + outputs);
    // One row of int8 uses vectors, because 15 of the 16 rows of a tile would be empty.
    const Arithmetic arithmetic = type == ComputeType::kF32    ? Arithmetic::kF32
                                  : type == ComputeType::kBF16 ? Arithmetic::kBF16
                                  : rows == 1                  ? Arithmetic::kInt8Vectors
                                                               : Arithmetic::kInt8;
    return {.bytes = weight_bytes() + states,
            .operations = 2.0 * rows * inputs * outputs,
            .arithmetic = arithmetic,
            .footprint = weight_bytes() * layers() + states};
  }
};

void Linear(benchmark::State& state, const Shape& shape, int threads) {
  ThreadPool pool(threads);
  const std::vector<float> weight = Normal(static_cast<size_t>(shape.inputs) * shape.outputs);
  const std::vector<float> bias = Normal(shape.outputs);
  std::vector<std::unique_ptr<PackedLinear>> layers(shape.layers());
  for (auto& layer : layers) {
    layer = PackLinearCpu({weight.data(), bias.data(), shape.inputs, shape.outputs}, shape.type, pool);
  }
  // Aligned as in the engine: access to a vector across two cache lines costs twice as much.
  const auto backend = MakeCpuBackend({.threads = 1});
  DeviceArray<float> input = backend->Array<float>(static_cast<size_t>(shape.rows) * shape.inputs);
  DeviceArray<float> output = backend->Array<float>(static_cast<size_t>(shape.rows) * shape.outputs);
  std::ranges::copy(Normal(input.size()), input.data());
  LinearArgs args = {.rows = Rows::First(shape.rows), .input = input.data(), .output = output.data()};
  size_t turn = 0;
  for (auto _ : state) {
    args.weight = layers[turn++ % layers.size()].get();
    LinearCpu(args, pool);
    benchmark::ClobberMemory();
  }
  Report(state, shape.work());
}

dnnl::memory::data_type InputType(ComputeType type) {
  using Type = dnnl::memory::data_type;
  return type == ComputeType::kInt8 ? Type::u8 : type == ComputeType::kBF16 ? Type::bf16 : Type::f32;
}

void OneDnn(benchmark::State& state, const Shape& shape) {
  using dnnl::memory;
  omp_set_num_threads(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const bool int8 = shape.type == ComputeType::kInt8;
  const auto type = InputType(shape.type);
  const memory::desc x({shape.rows, shape.inputs}, type, memory::format_tag::ab);
  const memory::desc w({shape.inputs, shape.outputs}, int8 ? memory::data_type::s8 : type, memory::format_tag::any);
  const memory::desc y({shape.rows, shape.outputs}, int8 ? memory::data_type::s32 : memory::data_type::f32,
                       memory::format_tag::ab);
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, w, y), engine, /*allow_empty=*/true);
  if (!description) return state.SkipWithError("oneDNN has no such product for this processor");
  const dnnl::matmul product(description);
  memory x_memory(x, engine), y_memory(y, engine);
  std::vector<memory> weights;
  for (int32_t i = 0; i < shape.layers(); ++i) weights.emplace_back(description.weights_desc(), engine);
  const auto fill = [](const memory& each) {
    std::fill_n(static_cast<uint8_t*>(each.get_data_handle()), each.get_desc().get_size(), uint8_t{1});
  };
  for (const memory& each : weights) fill(each);
  fill(x_memory), fill(y_memory);
  size_t turn = 0;
  for (auto _ : state) {
    product.execute(
        stream,
        {{DNNL_ARG_SRC, x_memory}, {DNNL_ARG_WEIGHTS, weights[turn++ % weights.size()]}, {DNNL_ARG_DST, y_memory}});
    stream.wait();
    benchmark::ClobberMemory();
  }
  Report(state, shape.work());
}

}  // namespace

void RegisterLinear(int threads) {
  for (const ComputeType type : {ComputeType::kInt8, ComputeType::kBF16, ComputeType::kF32}) {
    for (const int32_t rows : {1, 16, 512}) {  // a step of one document, of sixteen; an encoder
      for (const auto& [inputs, outputs] : {std::pair(kWidth, 3 * kWidth),
                                            {kWidth, kWidth},
                                            {kWidth, kFeedForward},
                                            {kFeedForward, kWidth},
                                            {kWidth, kVocabulary}}) {
        if (outputs == kVocabulary && rows > 16) continue;
        const Shape shape{inputs, outputs, rows, type};
        Register("linear/" + shape.name(), Linear, shape, threads);
        if (threads == 1) Register("oneDNN/" + shape.name(), OneDnn, shape);
      }
    }
  }
}

}  // namespace salient::benchmarks
