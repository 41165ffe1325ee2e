// Selection and attention as one operation: what they are one after the other, to the bit, on every backend.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

constexpr float kInverseStep = 40.0f;
constexpr int32_t kLayer = 1, kGroup = 1;

struct Shape {
  int32_t width, heads, selection_width;
};

// Rows that look at documents, and what a step leaves for each.
struct StepCall {
  SparseRows rows;
  std::vector<float> selection_queries, queries;
  std::vector<KeyView> views;
  std::vector<SelectionRule> rules;
};
struct StepResult {
  std::vector<float> output;
  std::vector<std::vector<int32_t>> positions;
  std::vector<KeyList> lists;
  std::vector<AttentionTally> tallies;
};

class SelectAttendOpsTest : public BackendTest {
 protected:
  KvLayout Layout(const Shape& shape) {
    return {.layers = 2,
            .width = shape.width,
            .groups = 2,
            .selection_width = shape.selection_width,
            .type = backend().kv_type()};
  }

  // `levels`: 0 for selection keys of any values, or how many different ones there are.
  void Fill(TestStore& store, const TestDocument& document, const Shape& shape, int32_t levels = 0) {
    const int32_t n = document.positions;
    const std::vector<float> key_value = Normal(static_cast<size_t>(n) * 2 * shape.width);
    std::vector<float> keys = Normal(static_cast<size_t>(n) * shape.selection_width);
    for (int32_t i = 0; i < n && levels > 0; ++i) {
      std::fill_n(keys.begin() + static_cast<size_t>(i) * shape.selection_width, shape.selection_width,
                  static_cast<float>(Uniform(1, levels)));
    }
    AppendAll(backend(), store, document, kLayer, key_value);
    AppendAllSelection(backend(), store, document, kGroup, keys, kInverseStep);
  }

  // Dense rows and windows among those that choose; nothing, few, most and all of the keys.
  SelectionRule RandomRule() {
    static const double kShares[] = {0.0, 0.01, 0.05, 0.3, 0.6, 0.999, 1.0};
    switch (Uniform(0, 6)) {
      case 0:
        return {};
      case 1:
        return {SelectionPolicy::kWindow, static_cast<double>(Uniform(0, 200)), 0};
      case 2:
      case 3:
        return {SelectionPolicy::kMass, kShares[Uniform(0, 6)], Uniform(0, 1) * 10};
      default:
        return {SelectionPolicy::kRatio, kShares[Uniform(0, 6)], Uniform(0, 2) * 10};
    }
  }

  StepCall RandomCall(const std::vector<TestDocument>& documents, int32_t rows, const Shape& shape) {
    StepCall call;
    call.rows = SparseRows(rows);
    call.selection_queries = Normal(static_cast<size_t>(call.rows.capacity()) * shape.selection_width);
    call.queries = Normal(static_cast<size_t>(call.rows.capacity()) * shape.width);
    call.views.resize(call.rows.end() + 1);
    call.rules.resize(call.rows.end() + 1);
    for (int32_t i = 0; i < rows; ++i) {
      const TestDocument& document = documents[Uniform(0, static_cast<int32_t>(documents.size()) - 1)];
      const int32_t all =
          document.candidates.empty() ? document.positions : static_cast<int32_t>(document.candidates.size());
      const int32_t row = call.rows[i];
      call.views[row] = ViewOf(document, Uniform(0, 3) == 0 ? Uniform(0, all) : all);
      call.views[row].centre = Uniform(0, std::max(0, call.views[row].length - 1));
      call.rules[row] = RandomRule();
    }
    return call;
  }

  // The rows [from, from + n) of the call, in one operation or in two.
  StepResult Run(const StepCall& call, TestStore& store, const Shape& shape, int32_t from, const Rows& rows,
                 bool together) {
    StepResult result;
    result.output.assign(static_cast<size_t>(rows.capacity) * shape.width, -777.0f);
    result.lists.resize(call.views.size());
    result.tallies.resize(call.views.size());
    for (const KeyView& view : call.views) result.positions.emplace_back(view.length, -5);
    for (size_t row = 0; row < call.views.size(); ++row) {
      result.lists[row] = {.positions = result.positions[row].data(), .count = -7};
    }
    const SelectArgs select = {
        .rows = rows,
        .queries = call.selection_queries.data() + static_cast<size_t>(from) * shape.selection_width,
        .key_inverse_step = kInverseStep,
        .store = store.pages(),
        .group = kGroup,
        .views = call.views.data(),
        .rules = call.rules.data(),
        .lists = result.lists.data(),
        .tallies = result.tallies.data()};
    const AttendArgs attend = {.rows = rows,
                               .queries = call.queries.data() + static_cast<size_t>(from) * shape.width,
                               .heads = shape.heads,
                               .store = store.pages(),
                               .layer = kLayer,
                               .views = call.views.data(),
                               .lists = result.lists.data(),
                               .output = result.output.data(),
                               .tallies = result.tallies.data(),
                               .few_a_document = true};
    if (together) {
      backend().SelectAndAttend(select, attend);
    } else {
      backend().Select(select);
      backend().Attend(attend);
    }
    return result;
  }

  void ExpectSame(const StepCall& call, const StepResult& one, const StepResult& other, const Shape& shape) {
    EXPECT_TRUE(SameBits(one.output.data(), other.output.data(), one.output.size()))
        << "width " << shape.width << ", " << call.rows.size() << " rows";
    for (size_t row = 0; row < call.views.size(); ++row) {
      ASSERT_EQ(one.lists[row].count, other.lists[row].count) << "row " << row;
      ASSERT_EQ(one.positions[row], other.positions[row]) << "row " << row;
      EXPECT_EQ(0, std::memcmp(&one.tallies[row], &other.tallies[row], sizeof(AttentionTally))) << "row " << row;
    }
  }

  void ExpectSameInOneAndInTwo(const StepCall& call, TestStore& store, const Shape& shape) {
    const StepResult two = Run(call, store, shape, 0, call.rows.rows(), false);
    ExpectSame(call, Run(call, store, shape, 0, call.rows.rows(), true), two, shape);
  }
};
SALIENT_TEST_ALL_BACKENDS(SelectAttendOpsTest);

constexpr Shape kShapes[] = {{48, 3, 16}, {128, 4, 64}, {256, 8, 64}, {256, 4, 48}, {512, 8, 64}, {512, 32, 4}};

TEST_P(SelectAttendOpsTest, IsSelectionAndThenAttention) {
  for (const Shape& shape : kShapes) {
    TestStore store(backend(), Layout(shape), TestStore::PagesWithGaps(3000, 10));
    std::vector<TestDocument> documents;
    for (const int32_t length : {1, 3, 64, 65, 127, 130, 300, 1029}) {
      documents.push_back(store.Add(length));
      Fill(store, documents.back(), shape);
    }
    for (const int32_t rows : {0, 1, 2, 5, 23}) {
      ExpectSameInOneAndInTwo(RandomCall(documents, rows, shape), store, shape);
    }
  }
}

TEST_P(SelectAttendOpsTest, TiesAndBeamsToo) {
  constexpr Shape kShape = {256, 8, 32};
  constexpr int32_t kBeam = 5, kSteps = 150;
  TestStore store(backend(), Layout(kShape), TestStore::PagesWithGaps(kBeam * kSteps + 500, 3));
  std::vector<TestDocument> documents = {store.Add(500), store.Add(kBeam * kSteps)};
  Fill(store, documents[0], kShape, 3);
  Fill(store, documents[1], kShape, 2);
  for (int32_t step = 0; step < kSteps; ++step) {
    documents[1].candidates.push_back(step * kBeam + Uniform(0, kBeam - 1));
  }
  StepCall call = RandomCall(documents, 20, kShape);
  ExpectSameInOneAndInTwo(call, store, kShape);
  std::fill(call.selection_queries.begin(), call.selection_queries.end(), 0.0f);  // all scores equal
  ExpectSameInOneAndInTwo(call, store, kShape);
}

// Lists and rows that outgrow what a kernel may keep beside it.
TEST_P(SelectAttendOpsTest, LongRowsToo) {
  constexpr Shape kShape = {256, 8, 8};
  TestStore store(backend(), Layout(kShape), TestStore::PagesWithGaps(15100, 2));
  const std::vector<TestDocument> documents = {store.Add(10500), store.Add(4600)};
  for (const TestDocument& document : documents) Fill(store, document, kShape);
  StepCall call = RandomCall(documents, 6, kShape);
  const SelectionRule kRules[] = {{SelectionPolicy::kRatio, 0.6, 0}, {SelectionPolicy::kRatio, 0.1, 0},
                                  {SelectionPolicy::kMass, 0.9, 0},  {SelectionPolicy::kMass, 0.2, 0},
                                  {SelectionPolicy::kDense, 0, 0},   {SelectionPolicy::kWindow, 3000, 0}};
  for (int32_t i = 0; i < 6; ++i) {
    const int32_t row = call.rows[i];
    call.views[row] = ViewOf(documents[i % 2], documents[i % 2].positions);
    call.views[row].centre = 100 * i;
    call.rules[row] = kRules[i];
  }
  ExpectSameInOneAndInTwo(call, store, kShape);
}

TEST_P(SelectAttendOpsTest, MoreRowsThanALaunchTakesToo) {
  constexpr Shape kShape = {256, 8, 8};
  TestStore store(backend(), Layout(kShape), TestStore::PagesWithGaps(230, 2));
  const std::vector<TestDocument> documents = {store.Add(30), store.Add(200)};
  for (const TestDocument& document : documents) Fill(store, document, kShape);
  ExpectSameInOneAndInTwo(RandomCall(documents, 530, kShape), store, kShape);
}

TEST_P(SelectAttendOpsTest, ARowDoesNotDependOnOtherRows) {
  for (const Shape& shape : {Shape{256, 8, 64}, Shape{512, 8, 64}}) {
    TestStore store(backend(), Layout(shape), TestStore::PagesWithGaps(1400, 4));
    std::vector<TestDocument> documents;
    for (const int32_t length : {40, 300, 1000}) {
      documents.push_back(store.Add(length));
      Fill(store, documents.back(), shape);
    }
    const StepCall call = RandomCall(documents, 12, shape);
    const StepResult together = Run(call, store, shape, 0, call.rows.rows(), true);
    for (int32_t i = 0; i < call.rows.size(); ++i) {
      const int32_t row = call.rows[i];
      const StepResult alone = Run(call, store, shape, i, {&row, nullptr, 1}, true);
      EXPECT_TRUE(SameBits(alone.output.data(), together.output.data() + static_cast<size_t>(i) * shape.width,
                           alone.output.size()))
          << "row " << row;
      EXPECT_EQ(alone.lists[row].count, together.lists[row].count);
      EXPECT_EQ(alone.positions[row], together.positions[row]);
    }
  }
}

}  // namespace
}  // namespace salient
