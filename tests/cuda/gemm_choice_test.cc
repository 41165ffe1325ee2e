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
  ~GemmChoiceTest() override {
    emulation::SetSteadyGemm(true);
    emulation::SetGemmLeavesRoom(true);
  }

  // Whether a product that is to leave room is told so.
  bool IsTold(GemmAlgorithm& algorithm) {
    const DeviceArray<uint16_t> x(memory_, 64), weight(memory_, 64 * 40);
    const DeviceArray<float> bias(memory_, 40);
    DeviceArray<float> y(memory_, 40);
    DeviceArray<std::byte> workspace(memory_, kGemmWorkspaceBytes);
    const int64_t before = emulation::GemmsThatLeftRoom();
    EXPECT_TRUE(algorithm
                    .Run(device_, {.rows = 1,
                                   .x = x.data(),
                                   .weight = weight.data(),
                                   .bias = bias.data(),
                                   .y = y.data(),
                                   .workspace = workspace.data(),
                                   .multiprocessors = 3})
                    .ok());
    device_.Synchronize();
    return emulation::GemmsThatLeftRoom() > before;
  }

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

// An algorithm may be told to leave room only where its bits stay; else it is never told.
TEST_F(GemmChoiceTest, LeavesRoomOnlyWhereTheBitsStay) {
  GemmChoices choices(device_, memory_);
  EXPECT_TRUE(IsTold(*choices.For({64, 40, false})));
  emulation::SetGemmLeavesRoom(false);
  GemmChoices others(device_, memory_);
  const std::shared_ptr<GemmAlgorithm> fills_all = others.For({64, 40, false});
  ASSERT_NE(fills_all, nullptr);
  EXPECT_FALSE(IsTold(*fills_all));
  EXPECT_EQ(others.Report(), "64 to 40: emulated, leaves no room (3 tried, 1 refused)\n");
}

}  // namespace
}  // namespace salient::cuda
