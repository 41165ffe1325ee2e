// The recurrence on every backend.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

class SsruOpsTest : public BackendTest {
 protected:
  // A step of each document at its length, in `backend`'s store and in the reference's.
  static void Run(Backend* backend, TestStore& store, const std::vector<TestDocument>& documents,
                  const std::vector<int32_t>& lengths, const std::vector<int32_t>& rows, int32_t layer,
                  const std::vector<float>& input, std::vector<float>& states) {
    std::vector<KeyView> views(documents.size());
    for (size_t i = 0; i < documents.size(); ++i) views[i] = ViewOf(documents[i], lengths[i]);
    const SsruArgs args = {.rows = {rows.data(), nullptr, static_cast<int32_t>(rows.size())},
                           .input = input.data(),
                           .store = store.pages(),
                           .layer = layer,
                           .views = views.data(),
                           .states = states.data()};
    backend == nullptr ? SsruReference(args) : backend->Ssru(args);
  }
};
SALIENT_TEST_ALL_BACKENDS(SsruOpsTest);

TEST_P(SsruOpsTest, StatesGoOnAsTheReferencesDo) {
  for (const int32_t width : {8, 48, 64, 200, 256}) {
    for (const ElementType type : {ElementType::kF32, ElementType::kBF16}) {
      const KvLayout layout = {.layers = 2, .width = width, .type = type};
      TestStore store(backend(), layout, 40), expected_store(backend(), layout, 40);
      std::vector<TestDocument> documents, expected;
      for (int32_t i = 0; i < 3; ++i) {
        documents.push_back(store.Add(150));
        expected.push_back(expected_store.Add(150));
      }
      // The third is a beam's hypothesis: every other position is its own.
      for (auto* document : {&documents[2], &expected[2]}) {
        for (int32_t p = 0; p < 150; p += 2) document->candidates.push_back(p);
      }
      std::vector<float> states = Normal(3 * width), expected_states = states;
      const std::vector<int32_t> rows = {0, 1, 2};
      for (int32_t step = 0; step < 70; ++step) {
        const std::vector<int32_t> lengths(3, step + 1);
        const std::vector<float> input = Normal(static_cast<size_t>(3) * 2 * width, 3.0f);
        Run(&backend(), store, documents, lengths, rows, 1, input, states);
        Run(nullptr, expected_store, expected, lengths, rows, 1, input, expected_states);
      }
      EXPECT_LE(LargestDifference(states.data(), expected_states.data(), states.size()), 2e-4f) << "width " << width;
    }
  }
}

TEST_P(SsruOpsTest, GatesSaturateAndStayFinite) {
  constexpr int32_t kWidth = 8;
  TestStore store(backend(), {.layers = 1, .width = kWidth, .type = backend().kv_type()}, 4);
  const std::vector<TestDocument> documents = {store.Add(2)};
  std::vector<float> input(2 * kWidth, 5.0f), states(kWidth, 0.0f);
  for (int32_t c = 0; c < kWidth; ++c) input[kWidth + c] = c % 2 == 0 ? 500.0f : -500.0f;  // all kept, nothing kept
  Run(&backend(), store, documents, {1}, {0}, 0, input, states);
  for (int32_t c = 0; c < kWidth; ++c) EXPECT_FLOAT_EQ(states[c], c % 2 == 0 ? 0.0f : 5.0f);
  input.assign(2 * kWidth, -3.0f);
  for (int32_t c = 0; c < kWidth; ++c) input[kWidth + c] = 500.0f;
  Run(&backend(), store, documents, {2}, {0}, 0, input, states);
  for (int32_t c = 0; c < kWidth; ++c) EXPECT_FLOAT_EQ(states[c], c % 2 == 0 ? 0.0f : 10.0f) << c;
}

// In the values or in the gates, in the first token or after it: seen in the component's output from there on.
TEST_P(SsruOpsTest, ANotANumberStaysInItsComponent) {
  constexpr int32_t kWidth = 40, kLength = 3;
  for (const int32_t bad : {0, 7, kWidth - 1, kWidth, 2 * kWidth - 1}) {
    for (int32_t bad_step = 0; bad_step < 2; ++bad_step) {
      TestStore store(backend(), {.layers = 1, .width = kWidth, .type = backend().kv_type()}, 4);
      const std::vector<TestDocument> documents = {store.Add(kLength)};
      for (int32_t step = 0; step < kLength; ++step) {
        std::vector<float> input = Normal(2 * kWidth), states(kWidth, 0.0f);
        if (step == bad_step) input[bad] = std::numeric_limits<float>::quiet_NaN();
        Run(&backend(), store, documents, {step + 1}, {0}, 0, input, states);
        for (int32_t c = 0; c < kWidth; ++c) {
          EXPECT_EQ(std::isnan(states[c]), step >= bad_step && c == bad % kWidth) << "component " << c << ", " << bad;
        }
      }
    }
  }
}

TEST_P(SsruOpsTest, ARowDoesNotDependOnOtherRows) {
  constexpr int32_t kWidth = 56, kRows = 40;
  const KvLayout layout = {.layers = 1, .width = kWidth, .type = backend().kv_type()};
  TestStore store(backend(), layout, 4 * kRows), alone(backend(), layout, 4 * kRows);
  std::vector<TestDocument> documents, others;
  std::vector<int32_t> rows, lengths(kRows, 1);
  for (int32_t i = 0; i < kRows; ++i) {
    documents.push_back(store.Add(1));
    others.push_back(alone.Add(1));
    rows.push_back(i);
  }
  const std::vector<float> input = Normal(static_cast<size_t>(kRows) * 2 * kWidth);
  std::vector<float> together(kRows * kWidth, 0.0f), one(kRows * kWidth, 0.0f);
  Run(&backend(), store, documents, lengths, rows, 0, input, together);
  for (int32_t row = 0; row < kRows; ++row) {
    const auto first = input.begin() + static_cast<ptrdiff_t>(row) * 2 * kWidth;
    Run(&backend(), alone, others, lengths, {row}, 0, {first, first + 2 * kWidth}, one);
  }
  EXPECT_EQ(std::memcmp(together.data(), one.data(), together.size() * sizeof(float)), 0);
}

}  // namespace
}  // namespace salient
