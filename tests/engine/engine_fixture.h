// An engine with a tiny model, on every device and in every number format: what the tests of this folder share.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gtest/gtest.h"

namespace salient::testing {

// The folder of one of the models that salient.tiny exports.
inline std::string TinyModel(const std::string& variant) { return std::string(SALIENT_TINY_MODELS) + "/" + variant; }

struct Setup {
  std::string device;
  ComputeType compute = ComputeType::kAuto;
  std::optional<ElementType> kv_type;
};

// Each test runs once for every setup of engine_fixture.cc.
class EngineTest : public ::testing::TestWithParam<Setup> {
 protected:
  EngineOptions Options(const std::string& variant = "base") const {
    return {.model_folder = TinyModel(variant),
            .device = GetParam().device,
            .compute = GetParam().compute,
            .threads = 2,
            .max_rows = 24,
            .encode_tokens = 300,
            .kv_bytes = 64 << 20,
            .kv_type = GetParam().kv_type};
  }
  std::unique_ptr<Engine> Make(const EngineOptions& options, EngineObserver* observer = nullptr) const {
    absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create(options, observer);
    EXPECT_TRUE(engine.ok()) << engine.status();
    return engine.ok() ? *std::move(engine) : nullptr;
  }
};

}  // namespace salient::testing
