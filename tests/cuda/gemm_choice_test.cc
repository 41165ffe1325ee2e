// The choice among a library's algorithms, with the emulation's library.

#include "engine/linear/cuda/gemm_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/core/cuda/cuda_memory.h"
#include "tests/cuda/emulation/emulated_device.h"
#include "tests/cuda/emulation/emulated_gemm.h"

namespace salient::cuda {
namespace {

class GemmChoiceTest : public testing::Test {
 protected:
  ~GemmChoiceTest() override { emulation::SetSteadyGemm(true); }

  emulation::EmulatedDevice device_;
  CudaMemory memory_{device_, false};
};

TEST_F(GemmChoiceTest, PassesOverWhatDividesSumsByTheNumberOfRows) {
  GemmChoices choices(device_, memory_);
  const GemmShape shape = {64, 40, false};
  const std::shared_ptr<GemmAlgorithm> chosen = choices.For(shape);
  ASSERT_NE(chosen, nullptr);
  const std::vector<std::shared_ptr<GemmAlgorithm>> all = OpenGemmLibrary()->Algorithms(shape, 1);
  ASSERT_GE(all.size(), 2u);
  EXPECT_EQ(choices.For(shape), chosen) << "a shape has one algorithm";
  EXPECT_NE(choices.For({64, 40, true}), chosen);
}

// An algorithm that is refused is another algorithm's turn, and no failure of the device.
TEST_F(GemmChoiceTest, PassesOverWhatTheLibraryRefusesAndReportsIt) {
  GemmChoices choices(device_, memory_);
  EXPECT_NE(choices.For({64, 40, false}), nullptr);
  EXPECT_TRUE(device_.ok()) << device_.status();
  EXPECT_EQ(choices.Summary(), "cuBLASLt for 1 of 1 layer shapes");
  EXPECT_EQ(choices.Report(), "64 to 40: emulated (3 tried, 1 refused)\n");
}

TEST_F(GemmChoiceTest, TakesNothingWhereNothingKeepsTheRows) {
  emulation::SetSteadyGemm(false);
  GemmChoices choices(device_, memory_);
  EXPECT_EQ(choices.For({64, 40, false}), nullptr);
  EXPECT_EQ(choices.Summary(), "cuBLASLt for 0 of 1 layer shapes");
  EXPECT_EQ(choices.Report(), "64 to 40: our own kernel (2 tried, 1 refused)\n");
}

}  // namespace
}  // namespace salient::cuda
