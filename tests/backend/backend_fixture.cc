#include "tests/backend/backend_fixture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace salient {

BackendTest::BackendTest() : isa_(GetParam().isa), backend_(MakeBackend(GetParam())) {}

std::vector<float> BackendTest::Normal(size_t n, float deviation) {
  std::normal_distribution<float> normal(0.0f, deviation);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random_);
  return values;
}

int32_t BackendTest::Uniform(int32_t least, int32_t greatest) {
  return std::uniform_int_distribution<int32_t>(least, greatest)(random_);
}

SparseRows::SparseRows(int32_t n) {
  for (int32_t i = 0, row = 1; i < n; ++i, row += 1 + i % 3) index_.push_back(row);
  Update();
}

void SparseRows::Update() {
  count_ = static_cast<int32_t>(index_.size());
  capacity_ = count_ + 2;
  index_.resize(capacity_, -1);  // never to be read
}

float LargestDifference(const float* a, const float* b, size_t n) {
  float largest = 0;
  for (size_t i = 0; i < n; ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    // A NaN on one side only differs more than anything.
    if (std::isnan(difference) && !(std::isnan(a[i]) && std::isnan(b[i]))) return INFINITY;
    if (!std::isnan(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

std::string WhereDifferent(const float* a, const float* b, size_t n, size_t width) {
  size_t at = 0, different = 0;
  for (size_t i = 0; i < n; ++i) {
    if (LargestDifference(a + i, b + i, 1) > LargestDifference(a + at, b + at, 1)) at = i;
    different += LargestDifference(a + i, b + i, 1) > 1e-3f ? 1 : 0;
  }
  return absl::StrCat("largest difference in row ", at / width, ", component ", at % width, ": ", a[at], " and ", b[at],
                      "; ", different, " of ", n, " differ by more than 0.001");
}

std::string CaseName(const testing::TestParamInfo<BackendCase>& info) { return info.param.name; }

}  // namespace salient
