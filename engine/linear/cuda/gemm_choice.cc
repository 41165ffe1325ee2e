#include "engine/linear/cuda/gemm_choice.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/core/bf16.h"

namespace salient::cuda {
namespace {

constexpr int32_t kUsualRows = 2048;  // EngineOptions::encode_tokens
constexpr int32_t kFewerRows[] = {1, 17, 64, 129, 301, 600};

// Libraries divide sums otherwise where there is less than a tile for each multiprocessor. With 512 outputs in tiles of
// 128 by 128 there is one from 32 rows a multiprocessor on, so a test goes from below to above that.
int32_t TestRows(const Device& device) { return std::clamp(32 * device.multiprocessors(), 600, 4096); }

std::vector<uint16_t> RandomBF16(size_t size, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<uint16_t> values(size);
  for (uint16_t& value : values) value = FloatToBF16(static_cast<float>(random() % 4096) / 2048.0f - 1.0f);
  return values;
}

// An algorithm that always fills the device, because it sums otherwise where it may not.
class FillsTheDevice final : public GemmAlgorithm {
 public:
  explicit FillsTheDevice(std::shared_ptr<GemmAlgorithm> algorithm) : algorithm_(std::move(algorithm)) {}

  absl::Status Run(Device& device, const GemmCall& call) override {
    GemmCall whole = call;
    whole.multiprocessors = 0;
    return algorithm_->Run(device, whole);
  }
  std::string Name() const override { return absl::StrCat(algorithm_->Name(), ", leaves no room"); }

 private:
  const std::shared_ptr<GemmAlgorithm> algorithm_;
};

}  // namespace

std::shared_ptr<GemmAlgorithm> GemmChoices::For(const GemmShape& shape) {
  const auto [at, missing] = chosen_.try_emplace(shape);
  Choice& choice = at->second;
  if (!missing || library_ == nullptr) return choice.algorithm;
  for (const std::shared_ptr<GemmAlgorithm>& algorithm : library_->Algorithms(shape, kUsualRows)) {
    ++choice.offered;
    const Habits habits = HabitsOf(shape, *algorithm, choice.refused);
    if (!habits.keeps_rows) continue;
    choice.algorithm = habits.leaves_room ? algorithm : std::make_shared<FillsTheDevice>(algorithm);
    break;
  }
  return choice.algorithm;
}

std::string GemmChoices::Summary() const {
  if (library_ == nullptr) return "no cuBLASLt: own kernels for all layers";
  const auto found = std::count_if(chosen_.begin(), chosen_.end(),
                                   [](const auto& entry) { return entry.second.algorithm != nullptr; });
  return absl::StrCat("cuBLASLt for ", found, " of ", chosen_.size(), " layer shapes");
}

std::string GemmChoices::Report() const {
  std::string report;
  for (const auto& [shape, choice] : chosen_) {
    absl::StrAppend(&report, shape.inputs, " to ", shape.outputs, shape.relu ? ", relu: " : ": ",
                    choice.algorithm != nullptr ? choice.algorithm->Name() : "our own kernel", " (", choice.offered,
                    " tried, ", choice.refused, " refused)\n");
  }
  return report;
}

GemmChoices::Habits GemmChoices::HabitsOf(const GemmShape& shape, GemmAlgorithm& algorithm, int& refused) {
  const size_t inputs = shape.inputs, outputs = shape.outputs, test_rows = TestRows(device_);
  const DeviceArray<uint16_t> x = OnDevice(memory_, RandomBF16(test_rows * inputs, 1));
  const DeviceArray<uint16_t> weight = OnDevice(memory_, RandomBF16(outputs * inputs, 2));
  const DeviceArray<float> bias(memory_, outputs);
  DeviceArray<float> y(memory_, test_rows * outputs);
  if (workspace_.empty()) workspace_ = DeviceArray<std::byte>(memory_, kGemmWorkspaceBytes);
  // The last rows; empty where the library refuses.
  const auto run = [&](size_t rows, int32_t multiprocessors) {
    const absl::Status status = algorithm.Run(device_, {.rows = static_cast<int32_t>(rows),
                                                        .x = x.data() + (test_rows - rows) * inputs,
                                                        .weight = weight.data(),
                                                        .bias = bias.data(),
                                                        .y = y.data(),
                                                        .workspace = workspace_.data(),
                                                        .multiprocessors = multiprocessors});
    std::vector<float> result(status.ok() ? rows * outputs : 0);
    memory_.CopyToHost(result.data(), y.data(), result.size() * sizeof(float));
    return result;
  };
  const std::vector<float> all = run(test_rows, 0);
  const auto same = [&](const std::vector<float>& some) {
    return !some.empty() &&
           std::memcmp(some.data(), all.data() + all.size() - some.size(), some.size() * sizeof(float)) == 0;
  };
  refused += all.empty();
  if (all.empty()) return {};
  for (const int32_t rows : kFewerRows) {
    const std::vector<float> some = run(rows, 0);
    refused += some.empty();
    if (!same(some)) return {};
  }
  device_.LeaveRoom(true);
  const int32_t part = device_.multiprocessors_to_fill();
  device_.LeaveRoom(false);
  Habits habits = {.keeps_rows = true, .leaves_room = same(run(test_rows, part))};
  for (const int32_t rows : kFewerRows) habits.leaves_room = habits.leaves_room && same(run(rows, part));
  return device_.ok() ? habits : Habits{};
}

}  // namespace salient::cuda
