#include "engine/base/cpu_features.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/backend/backend.h"

namespace salient {
namespace {

class CpuFeaturesTest : public testing::Test {
 protected:
  ~CpuFeaturesTest() override { unsetenv("SALIENT_CPU_ISA"); }
};

TEST_F(CpuFeaturesTest, TheEnvironmentLowersTheLevel) {
  const CpuIsa machine = DetectCpuIsa();
  for (CpuIsa isa : {CpuIsa::kScalar, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    setenv("SALIENT_CPU_ISA", CpuIsaName(isa), 1);
    EXPECT_EQ(DetectCpuIsa(), std::min(isa, machine));
  }
}

TEST_F(CpuFeaturesTest, UnknownNamesAreIgnored) {
  const CpuIsa machine = DetectCpuIsa();
  for (const char* name : {"", "AVX2", "sse", "avx512 "}) {
    setenv("SALIENT_CPU_ISA", name, 1);
    EXPECT_EQ(DetectCpuIsa(), machine) << name;
  }
}

TEST_F(CpuFeaturesTest, TheBackendSaysWhatItComputesWith) {
  setenv("SALIENT_CPU_ISA", "scalar", 1);
  EXPECT_EQ(MakeCpuBackend({.threads = 1, .compute = ComputeType::kInt8})->Name(), "cpu int8 (scalar)");
  EXPECT_EQ(MakeCpuBackend({.threads = 1, .compute = ComputeType::kBF16})->kv_type(), ElementType::kBF16);
  // Without dot-product instructions int8 gains nothing.
  EXPECT_EQ(MakeCpuBackend({.threads = 1})->Name(), "cpu fp32 (scalar)");
  EXPECT_EQ(MakeCpuBackend({.threads = 1})->kv_type(), ElementType::kF32);
  EXPECT_EQ(MakeReferenceBackend()->Name(), "reference");
}

}  // namespace
}  // namespace salient
