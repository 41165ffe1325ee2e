#include "tests/engine/engine_fixture.h"

namespace salient::testing {
namespace {

std::string SetupName(const ::testing::TestParamInfo<Setup>& setup) {
  static constexpr const char* kCompute[] = {"auto", "f32", "bf16", "int8"};
  return setup.param.device + "_" + kCompute[static_cast<int>(setup.param.compute)] +
         (setup.param.kv_type.has_value() ? "_int8_keys" : "");
}

INSTANTIATE_TEST_SUITE_P(Devices, EngineTest,
                         ::testing::Values(Setup{"reference"}, Setup{"cpu", ComputeType::kF32},
                                           Setup{"cpu", ComputeType::kBF16}, Setup{"cpu", ComputeType::kInt8},
                                           Setup{"cpu", ComputeType::kInt8, ElementType::kInt8}),
                         SetupName);

}  // namespace
}  // namespace salient::testing
