#include "engine/linear/cuda/gemm_choice.h"

#include <cstring>
#include <random>
#include <vector>

#include "engine/core/bf16.h"

namespace salient::cuda {
namespace {

constexpr int32_t kUsualRows = 2048;  // EngineOptions::encode_tokens
constexpr int32_t kTestRows = 600;    // more than two tiles of any kernel
constexpr int32_t kFewerRows[] = {1, 17, 64, 129, 301};

std::vector<uint16_t> RandomBF16(size_t size, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<uint16_t> values(size);
  for (uint16_t& value : values) value = FloatToBF16(static_cast<float>(random() % 4096) / 2048.0f - 1.0f);
  return values;
}

template <typename T>
DeviceArray<T> OnDevice(DeviceMemory& memory, const std::vector<T>& values) {
  DeviceArray<T> array(memory, values.size());
  memory.CopyToDevice(array.data(), values.data(), values.size() * sizeof(T));
  return array;
}

}  // namespace

std::shared_ptr<GemmAlgorithm> GemmChoices::For(const GemmShape& shape) {
  const auto [at, missing] = chosen_.try_emplace(shape);
  if (!missing || library_ == nullptr) return at->second;
  for (const std::shared_ptr<GemmAlgorithm>& algorithm : library_->Algorithms(shape, kUsualRows)) {
    if (!KeepsRows(shape, *algorithm)) continue;
    at->second = algorithm;
    break;
  }
  return at->second;
}

bool GemmChoices::KeepsRows(const GemmShape& shape, GemmAlgorithm& algorithm) {
  const size_t inputs = shape.inputs, outputs = shape.outputs;
  const DeviceArray<uint16_t> x = OnDevice(memory_, RandomBF16(kTestRows * inputs, 1));
  const DeviceArray<uint16_t> weight = OnDevice(memory_, RandomBF16(outputs * inputs, 2));
  const DeviceArray<float> bias(memory_, outputs);
  DeviceArray<float> y(memory_, kTestRows * outputs);
  const auto run = [&](int32_t rows) {  // the last of them
    std::vector<float> result(rows * outputs);
    algorithm.Run(device_, {rows, x.data() + (kTestRows - rows) * inputs, weight.data(), bias.data(), y.data()});
    memory_.CopyToHost(result.data(), y.data(), result.size() * sizeof(float));
    return result;
  };
  const std::vector<float> all = run(kTestRows);
  for (const int32_t rows : kFewerRows) {
    const std::vector<float> some = run(rows);
    if (std::memcmp(some.data(), all.data() + all.size() - some.size(), some.size() * sizeof(float)) != 0) return false;
  }
  return device_.ok();
}

}  // namespace salient::cuda
