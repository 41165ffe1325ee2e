// One test, every backend: the reference, the CPU backend with each number format on each instruction set that this
// machine has, and the CUDA backend, emulated or on a GPU, in a program of its own. Operations are compared with their
// plain references, called on the same host memory.

#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/cpu_features.h"

namespace salient {

struct BackendCase {
  std::string name;
  bool reference = false;
  ComputeType compute = ComputeType::kAuto;
  CpuIsa isa = CpuIsa::kScalar;
  bool cuda = false;
  std::optional<ElementType> kv_type;  // of tests of attention; none: the backend's

  // Whether many queries of a document are computed in tiles.
  bool tiles() const { return kv_type.has_value() ? false : cuda ? compute != ComputeType::kF32 : !reference; }
  // Whether tiles multiply bf16 by bf16.
  bool bf16_tiles() const { return tiles() && compute != ComputeType::kF32 && (cuda || isa == CpuIsa::kAmx); }
};

inline void PrintTo(const BackendCase& backend, std::ostream* out) { *out << backend.name; }

// The backends of the program that the tests are linked into: "reference", "f32_scalar", ..., "int8_amx", as far as
// this machine goes (host_cases.cc), or those of a GPU (tests/cuda/cuda_cases.cc).
std::vector<BackendCase> BackendCases();
// Each with its own keys and values, and once with int8: how products are computed is nothing to those who read keys.
inline std::vector<BackendCase> BackendCasesOfKeys() {
  std::vector<BackendCase> cases = BackendCases();
  for (BackendCase backend : BackendCases()) {
    if (!backend.reference && backend.compute != ComputeType::kF32) continue;
    backend.name += "_int8_keys";
    backend.kv_type = ElementType::kInt8;
    cases.push_back(backend);
  }
  return cases;
}
std::unique_ptr<Backend> MakeBackend(const BackendCase& backend);

// Holds the CPU's kernels at a level while it lives, or at the highest below it that the machine has.
class ScopedIsa {
 public:
  explicit ScopedIsa(CpuIsa isa) : before_(SetCpuIsa(isa)) {}
  ~ScopedIsa() { SetCpuIsa(before_); }
  ScopedIsa(const ScopedIsa&) = delete;
  ScopedIsa& operator=(const ScopedIsa&) = delete;

 private:
  const CpuIsa before_;
};

class BackendTest : public testing::TestWithParam<BackendCase> {
 protected:
  BackendTest();

  Backend& backend() { return *backend_; }

  // Numbers from a normal distribution; the same in every run.
  std::vector<float> Normal(size_t n, float deviation = 1.0f);
  int32_t Uniform(int32_t least, int32_t greatest);

 private:
  ScopedIsa isa_;
  std::unique_ptr<Backend> backend_;
  std::mt19937 random_{20260701};
};

// Row numbers with gaps between them, as rows are after some have left.
class SparseRows {
 public:
  SparseRows() = default;
  // Every second, then every third row number, and so on.
  explicit SparseRows(int32_t n);
  explicit SparseRows(std::vector<int32_t> index) : index_(std::move(index)) { Update(); }

  // Capacity is larger than the count, as it is when the device decides how many are active.
  Rows rows() const { return Rows{index_.data(), &count_, capacity_}; }
  int32_t size() const { return count_; }
  int32_t capacity() const { return capacity_; }
  int32_t operator[](int32_t i) const { return index_[i]; }
  int32_t end() const { return count_ == 0 ? 0 : index_[count_ - 1] + 1; }  // above every row number

 private:
  void Update();

  std::vector<int32_t> index_;
  int32_t count_ = 0, capacity_ = 0;
};

// Largest |a - b| over n values.
float LargestDifference(const float* a, const float* b, size_t n);
// For a test's message: where the largest difference is, in rows of `width` values, and how many values differ.
std::string WhereDifferent(const float* a, const float* b, size_t n, size_t width);

inline bool SameBits(const float* a, const float* b, size_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

std::string CaseName(const testing::TestParamInfo<BackendCase>& info);

#define SALIENT_TEST_ALL_BACKENDS(suite) \
  INSTANTIATE_TEST_SUITE_P(All, suite, testing::ValuesIn(BackendCases()), CaseName)

}  // namespace salient
