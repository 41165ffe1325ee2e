#include "engine/base/cpu_features.h"

#include <gtest/gtest.h>

#include "engine/backend/backend.h"
#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

constexpr CpuIsa kLevels[] = {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx};

TEST(CpuFeaturesTest, ANameLowersTheLevel) {
  for (const CpuIsa machine : kLevels) {
    for (const CpuIsa isa : kLevels) EXPECT_EQ(LoweredCpuIsa(machine, CpuIsaName(isa)), std::min(isa, machine));
  }
}

TEST(CpuFeaturesTest, UnknownNamesAreIgnored) {
  for (const char* name : {"", "AVX2", "sse", "avx512 "}) {
    EXPECT_EQ(LoweredCpuIsa(CpuIsa::kAvx512, name), CpuIsa::kAvx512) << name;
  }
  EXPECT_EQ(LoweredCpuIsa(CpuIsa::kAvx2, nullptr), CpuIsa::kAvx2);
}

TEST(CpuFeaturesTest, ALevelIsNeverAboveTheMachines) {
  const CpuIsa before = SetCpuIsa(CpuIsa::kScalar);
  EXPECT_EQ(DetectCpuIsa(), CpuIsa::kScalar);
  EXPECT_EQ(SetCpuIsa(CpuIsa::kAmx), CpuIsa::kScalar);
  EXPECT_GE(DetectCpuIsa(), before);
  SetCpuIsa(before);
}

TEST(CpuFeaturesTest, TheBackendSaysWhatItComputesWith) {
  const ScopedIsa scalar(CpuIsa::kScalar);
  EXPECT_EQ(MakeCpuBackend({.threads = 1, .compute = ComputeType::kInt8})->Name(), "cpu int8 (scalar)");
  EXPECT_EQ(MakeCpuBackend({.threads = 1, .compute = ComputeType::kBF16})->kv_type(), ElementType::kBF16);
  // Without dot-product instructions int8 gains nothing.
  EXPECT_EQ(MakeCpuBackend({.threads = 1})->Name(), "cpu fp32 (scalar)");
  EXPECT_EQ(MakeCpuBackend({.threads = 1})->kv_type(), ElementType::kF32);
  EXPECT_EQ(MakeReferenceBackend()->Name(), "reference");
}

}  // namespace
}  // namespace salient
