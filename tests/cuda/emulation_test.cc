// The emulation itself: what CUDA promises it does, and what CUDA forbids it finds.

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "engine/core/cuda/tensor_core.h"
#include "tests/cuda/emulation/emulated_device.h"

namespace salient::cuda {
namespace {

using emulation::EmulatedDevice;
using emulation::SeedOrder;

// An array of pinned memory, which kernels and the host both read.
template <typename T>
class Pinned {
 public:
  Pinned(EmulatedDevice& device, size_t size)
      : device_(device), data_(static_cast<T*>(device.AllocatePinned(size * sizeof(T)))) {
    std::fill_n(data_, size, T());
  }
  ~Pinned() { device_.FreePinned(data_); }
  T* data() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  EmulatedDevice& device_;
  T* data_;
};

template <bool kBarrier>
__global__ void ReverseKernel(int* values) {
  auto* shared = reinterpret_cast<int*>(DynamicShared());
  const int thread = static_cast<int>(threadIdx.x), size = static_cast<int>(blockDim.x);
  shared[thread] = values[thread];
  if (kBarrier) __syncthreads();
  values[thread] = shared[size - 1 - thread];
}

template <bool kBarrier>
int WrongReversals() {
  constexpr int kThreads = 64;
  EmulatedDevice device;
  Pinned<int> values(device, kThreads);
  int wrong = 0;
  for (int seed = 0; seed < 20; ++seed) {
    SeedOrder(seed);
    for (int i = 0; i < kThreads; ++i) values[i] = i;
    Launch(device, {.threads = kThreads, .shared_bytes = kThreads * sizeof(int)}, ReverseKernel<kBarrier>,
           values.data());
    device.Synchronize();
    for (int i = 0; i < kThreads; ++i) wrong += values[i] != kThreads - 1 - i;
  }
  return wrong;
}

TEST(EmulationTest, ABarrierOrdersWhatABlockShares) { EXPECT_EQ(WrongReversals<true>(), 0); }
TEST(EmulationTest, ABarrierThatIsMissingShows) { EXPECT_GT(WrongReversals<false>(), 0); }

// Everybody reads what the first thread has written, then works for long alone; then comes the next turn.
template <bool kBarrier>
__global__ void TurnsKernel(int* wrong) {
  auto* turn_of_first = reinterpret_cast<int*>(DynamicShared());
  const int thread = static_cast<int>(threadIdx.x);
  for (int turn = 0; turn < 8; ++turn) {
    if (thread == 0) *turn_of_first = turn;
    __syncthreads();
    wrong[thread] += *turn_of_first != turn;
    for (int work = 0; work < 20; ++work) WarpSum(1.0f);
    if (kBarrier) __syncthreads();
  }
}

template <bool kBarrier>
int WrongTurns() {
  constexpr int kThreads = 128;
  EmulatedDevice device;
  Pinned<int> wrong(device, kThreads);
  for (int seed = 0; seed < 20; ++seed) {
    SeedOrder(seed);
    Launch(device, {.threads = kThreads, .shared_bytes = sizeof(int)}, TurnsKernel<kBarrier>, wrong.data());
    device.Synchronize();
  }
  return std::accumulate(wrong.data(), wrong.data() + kThreads, 0);
}

TEST(EmulationTest, ABarrierOrdersTurns) { EXPECT_EQ(WrongTurns<true>(), 0); }
TEST(EmulationTest, ABarrierThatIsMissingAfterLongWorkShows) { EXPECT_GT(WrongTurns<false>(), 0); }

__global__ void WarpKernel(float* sums, unsigned* ballots) {
  const int thread = static_cast<int>(threadIdx.x);
  sums[thread] = WarpSum(static_cast<float>(thread));
  ballots[thread] = __ballot_sync(kAllLanes, thread % 3 == 0);
}

TEST(EmulationTest, WarpsExchangeAmongTheirOwnLanes) {
  EmulatedDevice device;
  Pinned<float> sums(device, 64);
  Pinned<unsigned> ballots(device, 64);
  Launch(device, {.threads = 64}, WarpKernel, sums.data(), ballots.data());
  device.Synchronize();
  for (int thread = 0; thread < 64; ++thread) {
    EXPECT_EQ(sums[thread], thread < 32 ? 496.0f : 1520.0f);
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(ballots[thread] >> lane & 1, static_cast<unsigned>((thread / 32 * 32 + lane) % 3 == 0));
    }
  }
}

// D = A B from shared memory by way of ldmatrix, with B as [n][k], or as [k][n] where it is read transposed.
template <bool kTransposed>
__global__ void ProductKernel(const uint16_t* a, const uint16_t* b, float* d) {
  auto* shared = reinterpret_cast<uint16_t*>(DynamicShared());
  uint16_t* second = shared + 16 * 16;
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 16 * 16; i += kWarp) {
    shared[i] = a[i];
    second[i] = b[i];
  }
  __syncthreads();
  uint32_t first[4], both[4];
  LoadMatrices(first, shared + (lane / 8 % 2 * 8 + lane % 8) * 16 + lane / 16 * 8);
  if (kTransposed) {
    LoadTransposed(both, second + (lane / 8 % 2 * 8 + lane % 8) * 16 + lane / 16 * 8);
  } else {
    LoadMatrices(both, second + (lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8);
  }
  float sums[2][4] = {};
  MultiplyAdd(sums[0], first, {both[0], both[1]});
  MultiplyAdd(sums[1], first, {both[2], both[3]});
  for (int half = 0; half < 2; ++half) {
    for (int r = 0; r < 4; ++r) d[(lane / 4 + r / 2 * 8) * 16 + half * 8 + lane % 4 * 2 + r % 2] = sums[half][r];
  }
}

template <bool kTransposed>
void ExpectProducts() {
  EmulatedDevice device;
  Pinned<uint16_t> a(device, 256), b(device, 256);
  Pinned<float> d(device, 256);
  std::mt19937 random(4);
  for (int i = 0; i < 256; ++i) {
    a[i] = BF16OfFloat(static_cast<float>(random() % 16) - 8);
    b[i] = BF16OfFloat(static_cast<float>(random() % 16) - 8);
  }
  Launch(device, {.threads = 32, .shared_bytes = 2 * 256 * sizeof(uint16_t)}, ProductKernel<kTransposed>, a.data(),
         b.data(), d.data());
  device.Synchronize();
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 16; ++n) {
      float expected = 0;
      for (int k = 0; k < 16; ++k) {
        expected += FloatOfBF16(a[m * 16 + k]) * FloatOfBF16(kTransposed ? b[k * 16 + n] : b[n * 16 + k]);
      }
      EXPECT_EQ(d[m * 16 + n], expected) << m << ", " << n;
    }
  }
}

TEST(EmulationTest, TensorCoresMultiply) { ExpectProducts<false>(); }
TEST(EmulationTest, TensorCoresMultiplyWhatIsReadTransposed) { ExpectProducts<true>(); }

// Reads what a neighbour copied, a turn behind: in each of two places the copy of one turn while the next is under way.
template <int kPending>
__global__ void CopyKernel(const uint4* from, uint4* to, int turns) {
  auto* shared = reinterpret_cast<uint4*>(DynamicShared());
  const int lane = static_cast<int>(threadIdx.x);
  for (int turn = 0; turn <= turns; ++turn) {
    if (turn < turns) CopyAsync16(&shared[turn % 2 * kWarp + lane], &from[turn * kWarp + lane], lane % 5 != 0);
    CommitCopies();
    if (turn == 0) continue;
    WaitForCopies<kPending>();
    __syncwarp();
    to[(turn - 1) * kWarp + lane] = shared[(turn - 1) % 2 * kWarp + (lane ^ 1)];
    __syncwarp();
  }
}

template <int kPending>
int WrongCopies() {
  constexpr int kTurns = 10;
  EmulatedDevice device;
  Pinned<uint4> from(device, kTurns * kWarp), to(device, kTurns * kWarp);
  for (unsigned i = 0; i < kTurns * kWarp; ++i) from[i] = {i + 1, 0, 0, 0};
  Launch(device, {.threads = kWarp, .shared_bytes = 2 * kWarp * sizeof(uint4)}, CopyKernel<kPending>, from.data(),
         to.data(), kTurns);
  device.Synchronize();
  int wrong = 0;
  for (unsigned i = 0; i < kTurns * kWarp; ++i) wrong += to[i].x != ((i ^ 1) % kWarp % 5 != 0 ? (i ^ 1) + 1 : 0);
  return wrong;
}

TEST(EmulationTest, CopiesThatAreWaitedForAreThere) { EXPECT_EQ(WrongCopies<1>(), 0); }
TEST(EmulationTest, CopiesThatAreWaitedForTooLateShow) { EXPECT_GT(WrongCopies<2>(), 0); }

__global__ void CountKernel(int* counter, int by) { atomicAdd(counter, by); }

TEST(EmulationTest, AGraphLaunchesAgainWhatWasCaptured) {
  EmulatedDevice device;
  Pinned<int> counter(device, 1);
  device.BeginCapture();
  Launch(device, {.threads = 32}, CountKernel, counter.data(), 2);
  const std::unique_ptr<Graph> graph = device.EndCapture();
  device.Synchronize();
  EXPECT_EQ(counter[0], 0);
  device.Replay(*graph);
  device.Replay(*graph);
  device.Synchronize();
  EXPECT_EQ(counter[0], 128);
}

TEST(EmulationTest, WhatCudaDoesNotLaunchIsAnError) {
  const auto launched = [](const LaunchShape& shape) {
    EmulatedDevice device;
    Pinned<int> counter(device, 1);
    Launch(device, shape, CountKernel, counter.data(), 1);
    device.Synchronize();
    EXPECT_EQ(counter[0] > 0, device.ok());
    return device.ok();
  };
  const size_t shared = EmulatedDevice().shared_bytes();
  EXPECT_TRUE(launched({.grid_x = 65'536, .threads = 32, .shared_bytes = shared}));
  EXPECT_TRUE(launched({.grid_y = 65'535, .threads = 32}));
  EXPECT_TRUE(launched({.threads = 1024}));
  EXPECT_FALSE(launched({.grid_y = 65'536, .threads = 32}));
  EXPECT_FALSE(launched({.threads = 1056}));
  EXPECT_FALSE(launched({.threads = 32, .shared_bytes = shared + 1}));
}

TEST(EmulationTest, NothingIsLaunchedAfterAnError) {
  emulation::FailNextDeviceAfter(1, /*lasts=*/false);
  absl::StatusOr<std::unique_ptr<Device>> opened = OpenDevice();
  ASSERT_TRUE(opened.ok());
  auto& device = static_cast<EmulatedDevice&>(**opened);
  Pinned<int> counter(device, 1);
  for (int i = 0; i < 3; ++i) Launch(device, {.threads = 32}, CountKernel, counter.data(), 1);
  device.Synchronize();
  EXPECT_EQ(counter[0], 32);
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
}

// What one stream has written another reads: with the order that After gives, and without.
int WrongReads(bool ordered) {
  EmulatedDevice writer;
  const std::unique_ptr<Device> reader = writer.OpenStream();
  Pinned<int> counter(writer, 2);
  int wrong = 0;
  for (int i = 0; i < 50; ++i) {
    counter[0] = counter[1] = 0;
    Launch(writer, {.threads = 32}, CountKernel, counter.data(), 1);
    if (ordered) reader->After(writer);
    reader->StartCopyToHost(counter.data() + 1, counter.data(), sizeof(int));
    reader->Synchronize();
    wrong += counter[1] != 32;
    writer.Synchronize();
  }
  return wrong;
}

TEST(EmulationTest, OneStreamWaitsForAnother) { EXPECT_EQ(WrongReads(true), 0); }
TEST(EmulationTest, AnOrderOfStreamsThatIsMissingShows) { EXPECT_GT(WrongReads(false), 0); }

TEST(EmulationTest, WhatTheHostChangesBeforeItIsCopiedShows) {
  EmulatedDevice device;
  Pinned<int> from(device, 1), to(device, 1);
  auto* memory = static_cast<int*>(device.Allocate(sizeof(int)));
  int changed = 0;
  for (int i = 0; i < 50; ++i) {
    from[0] = 1;
    device.CopyToDevice(memory, from.data(), sizeof(int));
    from[0] = 2;
    device.StartCopyToHost(to.data(), memory, sizeof(int));
    const uint64_t mark = device.Mark();
    device.WaitFor(mark);
    EXPECT_TRUE(device.Passed(mark));
    changed += to[0] == 2;
  }
  EXPECT_GT(changed, 0);
  device.Free(memory);
}

__global__ void DivergedKernel() {
  if (threadIdx.x < 5) {
    __syncwarp();
  } else {
    __ballot_sync(kAllLanes, 1);
  }
}

__global__ void AbandonedKernel() {
  if (threadIdx.x > 0) __syncthreads();
}

TEST(EmulationDeathTest, WhatIsForbiddenEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EmulatedDevice device;
  const auto run = [&](unsigned threads, void (*kernel)()) {
    Launch(device, {.threads = threads}, kernel);
    device.Synchronize();
  };
  EXPECT_DEATH(run(32, DivergedKernel), "different warp-wide operations");
  EXPECT_DEATH(run(32, AbandonedKernel), "ended while others wait|that never come");
  EXPECT_DEATH(run(33, DivergedKernel), "multiple of 32");
}

TEST(EmulationDeathTest, TheHostCannotTouchDeviceMemory) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EmulatedDevice device;
  auto* memory = static_cast<volatile int*>(device.Allocate(64));
  EXPECT_DEATH(*memory = 1, "");
}

}  // namespace
}  // namespace salient::cuda
