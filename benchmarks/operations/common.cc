#include "benchmarks/operations/common.h"

namespace salient::benchmarks {

const char* NameOf(Arithmetic arithmetic) {
  static constexpr const char* kNames[] = {"f32", "bf16", "int8", "int8 vectors"};
  return kNames[static_cast<int>(arithmetic)];
}

const char* NameOf(ComputeType type) {
  static constexpr const char* kNames[] = {"auto", "f32", "bf16", "int8"};
  return kNames[static_cast<int>(type)];
}

void Report(benchmark::State& state, const Work& work) {
  state.counters["bytes"] = work.bytes;
  state.counters["operations"] = work.operations;
  state.counters["footprint"] = work.footprint;
  state.SetLabel(NameOf(work.arithmetic));
}

std::vector<float> Normal(size_t n) {
  static std::minstd_rand random(7);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace salient::benchmarks
