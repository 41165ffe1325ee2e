#include "tests/cuda/emulation/emulated_gemm.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "engine/core/bf16.h"
#include "engine/linear/cuda/gemm.h"
#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

std::atomic<bool> g_steady{true}, g_leaves_room{true};
std::atomic<int64_t> g_left_room{0};

enum class Habit { kRefuses, kDivides, kSteady };

class EmulatedAlgorithm final : public cuda::GemmAlgorithm {
 public:
  EmulatedAlgorithm(const cuda::GemmShape& shape, Habit habit) : shape_(shape), habit_(habit) {}

  absl::Status Run(cuda::Device& device, const cuda::GemmCall& call) override {
    if (habit_ == Habit::kRefuses && call.rows % 2 != 0) return absl::UnavailableError("the emulated library refuses");
    if (call.multiprocessors > 0) ++g_left_room;
    static_cast<emulation::EmulatedDevice&>(device).Enqueue([self = *this, call] {
      std::memset(call.workspace, 0xa5, 4096);
      self.Compute(call);
    });
    return absl::OkStatus();
  }
  std::string Name() const override { return "emulated"; }

 private:
  void Compute(const cuda::GemmCall& call) const {
    const bool divides = (habit_ == Habit::kDivides && call.rows < 100) || (call.multiprocessors > 0 && !g_leaves_room);
    const int32_t slices = divides ? 2 : 1;
    for (int32_t i = 0; i < call.rows; ++i) {
      for (int32_t n = 0; n < shape_.outputs; ++n) {
        float* y = call.y + static_cast<size_t>(i) * shape_.outputs + n;
        const float sum = Sum(call, i, n, slices) + call.bias[n] + (call.accumulate ? *y : 0.0f);
        *y = shape_.relu && sum < 0 ? 0.0f : sum;
      }
    }
  }
  float Sum(const cuda::GemmCall& call, int32_t i, int32_t n, int32_t slices) const {
    const uint16_t* x = call.x + static_cast<size_t>(i) * shape_.inputs;
    const uint16_t* w = call.weight + static_cast<size_t>(n) * shape_.inputs;
    float total = 0;
    for (int32_t slice = 0; slice < slices; ++slice) {
      float sum = 0;
      for (int32_t k = slice; k < shape_.inputs; k += slices) sum += BF16ToFloat(x[k]) * BF16ToFloat(w[k]);
      total += sum;
    }
    return total;
  }

  const cuda::GemmShape shape_;
  const Habit habit_;
};

class EmulatedLibrary final : public cuda::GemmLibrary {
 public:
  std::vector<std::shared_ptr<cuda::GemmAlgorithm>> Algorithms(const cuda::GemmShape& shape, int32_t) override {
    std::vector<std::shared_ptr<cuda::GemmAlgorithm>> all;
    all.push_back(std::make_shared<EmulatedAlgorithm>(shape, Habit::kRefuses));
    all.push_back(std::make_shared<EmulatedAlgorithm>(shape, Habit::kDivides));
    if (has_steady_) all.push_back(std::make_shared<EmulatedAlgorithm>(shape, Habit::kSteady));
    return all;
  }

 private:
  const bool has_steady_ = g_steady.load();
};

}  // namespace

std::unique_ptr<cuda::GemmLibrary> cuda::OpenGemmLibrary() { return std::make_unique<EmulatedLibrary>(); }

void emulation::SetSteadyGemm(bool has_one) { g_steady.store(has_one); }
void emulation::SetGemmLeavesRoom(bool keeps_bits) { g_leaves_room.store(keeps_bits); }
int64_t emulation::GemmsThatLeftRoom() { return g_left_room.load(); }

}  // namespace salient
