// Memory of a CUDA device while its stream is behind what the host has given it.

#include "engine/core/cuda/cuda_memory.h"

#include <gtest/gtest.h>

#include "tests/cuda/emulation/emulated_device.h"

namespace salient::cuda {
namespace {

class CudaMemoryTest : public testing::Test {
 protected:
  static constexpr int kRounds = 50;

  emulation::EmulatedDevice device_;
  CudaMemory memory_{device_, false};
};

// The host's block is another's at once in the eyes of who frees it, but a copy may still read it.
TEST_F(CudaMemoryTest, HostMemoryThatACopyReadsIsNotGivenAway) {
  auto* block = static_cast<int*>(memory_.Allocate(sizeof(int)));
  for (int round = 1; round <= kRounds; ++round) {
    auto* freed = static_cast<int*>(memory_.AllocateHost(sizeof(int)));
    *freed = round;
    memory_.CopyToDevice(block, freed, sizeof(int));
    memory_.FreeHost(freed, sizeof(int));
    auto* next = static_cast<int*>(memory_.AllocateHost(sizeof(int)));
    *next = -1;
    int copied = 0;
    memory_.CopyToHost(&copied, block, sizeof(int));
    EXPECT_EQ(copied, round);
    memory_.FreeHost(next, sizeof(int));
  }
  memory_.Free(block, sizeof(int));
}

// Where all host memory is pinned, as in the tests of operations on a GPU, who frees it does not know that.
TEST_F(CudaMemoryTest, WhatIsCopiedFromMemoryThatIsFreedAtOnceIsThere) {
  CudaMemory pinned(device_, true);
  auto* block = static_cast<int*>(pinned.Allocate(sizeof(int)));
  auto* from = static_cast<int*>(device_.AllocatePinned(sizeof(int)));
  for (int round = 1; round <= kRounds; ++round) {
    *from = round;
    pinned.CopyToDevice(block, from, sizeof(int));
    *from = -1;
    int copied = 0;
    pinned.CopyToHost(&copied, block, sizeof(int));
    ASSERT_EQ(copied, round);
  }
  device_.FreePinned(from);
  pinned.Free(block, sizeof(int));
}

TEST_F(CudaMemoryTest, HostMemoryIsUsedAgain) {
  void* first = memory_.AllocateHost(100);
  memory_.FreeHost(first, 100);
  device_.Synchronize();
  for (int round = 0; round < kRounds; ++round) {
    void* again = memory_.AllocateHost(100);
    if (again == first) return;
    memory_.FreeHost(again, 100);
    device_.Synchronize();
  }
  FAIL() << "every block is a new one";
}

TEST_F(CudaMemoryTest, WhatIsCopiedWithoutWaitingIsThereBehindAMark) {
  auto* block = static_cast<int*>(memory_.Allocate(sizeof(int)));
  auto* from = static_cast<int*>(memory_.AllocateHost(sizeof(int)));
  auto* to = static_cast<int*>(memory_.AllocateHost(sizeof(int)));
  for (int round = 1; round <= kRounds; ++round) {
    *from = round;
    memory_.CopyToDevice(block, from, sizeof(int));
    memory_.StartCopyToHost(to, block, sizeof(int));
    memory_.WaitFor(memory_.Mark());
    EXPECT_EQ(*to, round);
  }
  memory_.FreeHost(from, sizeof(int));
  memory_.FreeHost(to, sizeof(int));
  memory_.Free(block, sizeof(int));
}

}  // namespace
}  // namespace salient::cuda
