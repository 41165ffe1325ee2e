// Selection on every backend: the same keys as the reference, exactly, whatever the shape.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "engine/attention/mass.h"
#include "engine/attention/select_rules.h"
#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

constexpr float kInverseStep = 40.0f;

// Rows of several documents, their rules, and room for the lists.
struct SelectCall {
  SparseRows rows;
  std::vector<float> queries;
  std::vector<KeyView> views;
  std::vector<SelectionRule> rules;
  std::vector<std::vector<int32_t>> positions;
  std::vector<KeyList> lists;

  SelectCall(const SparseRows& all, int32_t width) : rows(all) {
    queries.resize(static_cast<size_t>(all.capacity()) * width);
    views.resize(all.end() + 1);
    rules.resize(all.end() + 1);
    positions.resize(all.end() + 1);
    lists.resize(all.end() + 1);
  }
  void MakeRoom() {
    for (size_t row = 0; row < views.size(); ++row) {
      positions[row].assign(views[row].length, -5);
      lists[row] = {.positions = positions[row].data(), .count = -7};
    }
  }
  SelectArgs Args(const KvPages& pages, int32_t group) {
    MakeRoom();
    return {.rows = rows.rows(),
            .queries = queries.data(),
            .key_inverse_step = kInverseStep,
            .store = pages,
            .group = group,
            .views = views.data(),
            .rules = rules.data(),
            .lists = lists.data()};
  }
};

class SelectOpsTest : public BackendTest {
 protected:
  static KvLayout Layout(int32_t selection_width) {
    return {.layers = 1, .width = 16, .groups = 2, .selection_width = selection_width, .type = backend_type};
  }

  // Stores keys for all positions of the document with the backend under test.
  void Fill(TestStore& store, const TestDocument& document, int32_t group, const std::vector<float>& keys) {
    AppendAllSelection(backend(), store, document, group, keys, kInverseStep);
  }

  // Rows that look at one of the documents each, which must outlive the call, with a rule of each kind in turn.
  SelectCall RandomCall(const std::vector<TestDocument>& documents, int32_t rows, int32_t width) {
    SelectCall call(SparseRows(rows), width);
    call.queries = Normal(call.queries.size());
    for (int32_t i = 0; i < rows; ++i) {
      const TestDocument& document = documents[Uniform(0, static_cast<int32_t>(documents.size()) - 1)];
      const int32_t all =
          document.candidates.empty() ? document.positions : static_cast<int32_t>(document.candidates.size());
      const int32_t row = call.rows[i];
      call.views[row] = ViewOf(document, Uniform(0, 3) == 0 ? all : Uniform(0, all));
      call.views[row].centre = Uniform(0, std::max(0, call.views[row].length - 1));
      call.rules[row] = RandomRule();
    }
    return call;
  }

  SelectionRule RandomRule() {
    static const float kFractions[] = {0.0f, 0.01f, 0.05f, 0.1f, 0.5f, 0.999f, 1.0f};
    static const float kMasses[] = {0.0f, 0.1f, 0.5f, 0.95f, 0.999f, 1.0f};
    switch (Uniform(0, 5)) {
      case 0:
        return {};
      case 1:
        return {SelectionPolicy::kWindow, static_cast<float>(Uniform(0, 40)), 0};
      case 2:
      case 3:
        return {SelectionPolicy::kMass, kMasses[Uniform(0, 5)], Uniform(0, 1) * 10};
      default:
        return {SelectionPolicy::kRatio, kFractions[Uniform(0, 6)], Uniform(0, 2) * 10};
    }
  }

  void ExpectReferencesLists(SelectCall& call, const KvPages& pages, int32_t group) {
    SelectReference(call.Args(pages, group));
    const std::vector<KeyList> expected = call.lists;
    const std::vector<std::vector<int32_t>> expected_positions = call.positions;
    backend().Select(call.Args(pages, group));
    for (size_t row = 0; row < call.lists.size(); ++row) {
      ASSERT_EQ(call.lists[row].count, expected[row].count)
          << "row " << row << ", kind " << static_cast<int>(call.rules[row].policy) << ", value "
          << call.rules[row].value << ", length " << call.views[row].length;
      // kEveryKey leaves the positions alone, and no list is written past its count.
      const int32_t listed = std::max(0, expected[row].count);
      for (size_t j = 0; j < expected_positions[row].size(); ++j) {
        if (static_cast<int32_t>(j) >= listed && expected[row].count >= 0) break;
        ASSERT_EQ(call.positions[row][j], expected_positions[row][j]) << "row " << row << ", key " << j;
      }
    }
  }

  static constexpr ElementType backend_type = ElementType::kF32;
};
SALIENT_TEST_ALL_BACKENDS(SelectOpsTest);

TEST_P(SelectOpsTest, KeysAreStoredLikeTheReferences) {
  for (int32_t width : {4, 32, 48, 64, 256}) {
    TestStore store(backend(), Layout(width), 20), expected_store(backend(), Layout(width), 20);
    const TestDocument document = store.Add(150), same = expected_store.Add(150);
    std::vector<float> keys = Normal(150 * width, 2.0f);  // some beyond the clamp of 127 / 40
    keys[0] = 1e30f;
    keys[1] = -1e30f;
    keys[2] = 0.5f / kInverseStep;  // half to even
    keys[3] = 1.5f / kInverseStep;
    Fill(store, document, 1, keys);
    std::vector<KeyView> views(150, ViewOf(same, 0));
    std::vector<int32_t> positions(150);
    for (int32_t i = 0; i < 150; ++i) positions[i] = i;
    AppendSelectionReference({.rows = Rows::First(150),
                              .keys = keys.data(),
                              .key_inverse_step = kInverseStep,
                              .store = expected_store.pages(),
                              .group = 1,
                              .views = views.data(),
                              .positions = positions.data()});
    const size_t bytes = store.pages().layout.page_bytes();
    for (int32_t page : document.pages) {
      ASSERT_EQ(0, std::memcmp(store.pages().Page(page), expected_store.pages().Page(page), bytes))
          << "width " << width;
    }
  }
}

TEST_P(SelectOpsTest, ListsAreTheReferences) {
  for (int32_t width : {4, 32, 48, 64, 256, 512}) {
    TestStore store(backend(), Layout(width), TestStore::PagesWithGaps(3000, 12));
    std::vector<TestDocument> documents;
    for (int32_t positions : {1, 2, 15, 16, 17, 63, 64, 65, 127, 300, 1000}) {
      documents.push_back(store.Add(positions));
      Fill(store, documents.back(), 1, Normal(static_cast<size_t>(positions) * width));
    }
    for (int32_t rows : {0, 1, 60}) {
      SelectCall call = RandomCall(documents, rows, width);
      ExpectReferencesLists(call, store.pages(), 1);
    }
  }
}

// A GPU keeps the scores of the first 10,240 keys in fast memory, and computes the others anew.
TEST_P(SelectOpsTest, ListsOfVeryManyKeysAreTheReferences) {
  constexpr int32_t kWidth = 8, kPositions = 11'500;
  TestStore store(backend(), Layout(kWidth), TestStore::PagesWithGaps(2 * kPositions, 2));
  TestDocument documents[] = {store.Add(kPositions), store.Add(kPositions)};
  for (int32_t i = 0; i < kPositions; ++i) {
    if (i % 20 != 7) documents[1].candidates.push_back(i);
  }
  SelectCall call(SparseRows(6), kWidth);
  call.queries = Normal(call.queries.size());
  for (int32_t i = 0; i < 6; ++i) {
    const TestDocument& document = documents[i / 3];
    if (i % 3 == 0) Fill(store, document, 1, Normal(static_cast<size_t>(kPositions) * kWidth));
    call.views[call.rows[i]] = ViewOf(document, i < 3 ? kPositions : static_cast<int32_t>(document.candidates.size()));
    const SelectionPolicy policy = i % 3 == 0 ? SelectionPolicy::kMass : SelectionPolicy::kRatio;
    call.rules[call.rows[i]] = {policy, 0.95f - 0.25f * (i % 3), 7};
  }
  ExpectReferencesLists(call, store.pages(), 1);
}

// As an encoder brings them. Widths and numbers of rows are also such that tiles are partly filled; some rows choose
// without scores.
TEST_P(SelectOpsTest, ManyQueriesOfADocumentGetTheReferencesLists) {
  for (int32_t width : {4, 32, 60, 64, 68, 132, 256}) {
    for (int32_t positions : {1, 15, 64, 65, 300, 1030}) {
      TestStore store(backend(), Layout(width), TestStore::PagesWithGaps(positions, 1));
      const std::vector<TestDocument> documents = {store.Add(positions)};
      Fill(store, documents[0], 1, Normal(static_cast<size_t>(positions) * width));
      for (int32_t rows : {3, 16, 37}) {
        SelectCall call = RandomCall(documents, rows, width);
        for (int32_t i = 0; i < rows; ++i) {
          if (i % 13 == 5) continue;
          call.rules[call.rows[i]] = {i % 4 == 0 ? SelectionPolicy::kMass : SelectionPolicy::kRatio, 0.1 * (i % 7),
                                      i % 5};
        }
        ExpectReferencesLists(call, store.pages(), 1);
      }
    }
  }
}

TEST_P(SelectOpsTest, ListsOfCandidatesAreTheReferences) {
  constexpr int32_t kWidth = 64;
  for (int32_t beam : {2, 4, 5, 16}) {
    TestStore store(backend(), Layout(kWidth), TestStore::PagesWithGaps(4000, 3));
    std::vector<TestDocument> documents;
    for (int32_t steps : {1, 7, 64, 150}) {
      documents.push_back(store.Add(steps * beam));
      for (int32_t step = 0; step < steps; ++step) {
        documents.back().candidates.push_back(step * beam + Uniform(0, beam - 1));
      }
      Fill(store, documents.back(), 0, Normal(static_cast<size_t>(steps) * beam * kWidth));
    }
    SelectCall call = RandomCall(documents, 60, kWidth);
    ExpectReferencesLists(call, store.pages(), 0);
  }
}

TEST_P(SelectOpsTest, TiesGoToTheLowerPosition) {
  constexpr int32_t kWidth = 32;
  TestStore store(backend(), Layout(kWidth), 20);
  const std::vector<TestDocument> documents = {store.Add(500)};
  std::vector<float> keys(500 * kWidth);
  for (int32_t i = 0; i < 500; ++i) {
    // Three different keys in all, so that every threshold has ties.
    std::fill_n(keys.begin() + i * kWidth, kWidth, static_cast<float>(Uniform(-1, 1)));
  }
  Fill(store, documents[0], 0, keys);
  SelectCall call = RandomCall(documents, 200, kWidth);
  ExpectReferencesLists(call, store.pages(), 0);

  std::fill(call.queries.begin(), call.queries.end(), 0.0f);  // all scores equal
  ExpectReferencesLists(call, store.pages(), 0);
  const int32_t row = call.rows[0];
  call.rules[row] = {SelectionPolicy::kRatio, 0.1f, 0};
  call.views[row].length = 500;
  ExpectReferencesLists(call, store.pages(), 0);
  ASSERT_EQ(call.lists[row].count, 50);
  for (int32_t j = 0; j < 50; ++j) EXPECT_EQ(call.positions[row][j], j);
}

TEST_P(SelectOpsTest, OddNumbersDoNotCrash) {
  constexpr int32_t kWidth = 64;
  TestStore store(backend(), Layout(kWidth), 20);
  const std::vector<TestDocument> documents = {store.Add(200)};
  std::vector<float> keys = Normal(200 * kWidth);
  keys[70] = std::numeric_limits<float>::quiet_NaN();
  keys[140] = std::numeric_limits<float>::infinity();
  Fill(store, documents[0], 0, keys);
  SelectCall call = RandomCall(documents, 30, kWidth);
  for (int32_t i = 0; i < 30; i += 3) call.queries[i * kWidth + 5] = std::numeric_limits<float>::quiet_NaN();
  for (int32_t i = 1; i < 30; i += 3) call.queries[i * kWidth + 9] = -std::numeric_limits<float>::infinity();
  ExpectReferencesLists(call, store.pages(), 0);
}

TEST_P(SelectOpsTest, ARowDoesNotDependOnOtherRows) {
  constexpr int32_t kWidth = 64;
  TestStore store(backend(), Layout(kWidth), TestStore::PagesWithGaps(1000, 3));
  std::vector<TestDocument> documents;
  for (int32_t positions : {40, 300, 600}) {
    documents.push_back(store.Add(positions));
    Fill(store, documents.back(), 0, Normal(static_cast<size_t>(positions) * kWidth));
  }
  SelectCall call = RandomCall(documents, 80, kWidth);
  SelectArgs args = call.Args(store.pages(), 0);
  backend().Select(args);
  const std::vector<KeyList> together = call.lists;
  const std::vector<std::vector<int32_t>> together_positions = call.positions;
  for (int32_t i = 0; i < call.rows.size(); ++i) {
    const int32_t row = call.rows[i];
    args = call.Args(store.pages(), 0);
    args.rows = {&row, nullptr, 1};
    args.queries = call.queries.data() + i * kWidth;
    backend().Select(args);
    ASSERT_EQ(call.lists[row].count, together[row].count);
    for (int32_t j = 0; j < call.lists[row].count; ++j) {
      ASSERT_EQ(call.positions[row][j], together_positions[row][j]);
    }
  }
}

TEST(KeysToKeepTest, CountsAsTrainingDoes) {
  const auto keep = [](float value, int32_t min_keys, int32_t length) {
    return KeysToKeep({SelectionPolicy::kRatio, value, min_keys}, length);
  };
  EXPECT_EQ(keep(0.05f, 0, 100), 5);  // not 6, though 0.05f * 100 is a little above 5
  EXPECT_EQ(keep(0.05f, 0, 101), 6);
  EXPECT_EQ(keep(0.05f, 10, 100), 10);
  EXPECT_EQ(keep(0.05f, 10, 7), 7);
  EXPECT_EQ(keep(1.0f, 0, 33), 33);
  EXPECT_EQ(keep(0.0f, 0, 33), 0);
  EXPECT_EQ(keep(0.5f, 0, 0), 0);
  EXPECT_EQ(KeysToKeep({SelectionPolicy::kDense, 0.1f, 0}, 40), 40);
  EXPECT_EQ(KeysToKeep({SelectionPolicy::kWindow, 20.0f, 0}, 40), 20);
  EXPECT_EQ(KeysToKeep({SelectionPolicy::kWindow, 20.0f, 0}, 4), 4);
}

TEST(MassWeightTest, IsSoftmaxWithinItsStep) {
  const float scale = MassScale(2.0f, 40.0f, 64);
  const double unit = 2.0 / 127 / 40.0 / 8;  // score to logit
  for (int32_t below : {0, 1, 7, 100, 5000, 20000, 40000}) {
    const double expected = 2147483648.0 * std::exp(-below * unit);
    EXPECT_NEAR(MassWeight(below, scale), expected, expected * 0.0008 + 1) << below;
  }
  EXPECT_EQ(MassWeight(1 << 23, scale), 0u);
  EXPECT_EQ(MassWeight(0, 0.0f), 1u << 31);
}

// Checks the window by its definition rather than by another implementation.
TEST(WindowTest, StaysInsideAndKeepsAsManyAsItCan) {
  for (int32_t length : {1, 5, 20, 21, 50}) {
    for (int32_t value : {1, 2, 5, 20}) {
      for (int32_t centre = 0; centre < length; ++centre) {
        const SelectionRule rule = {SelectionPolicy::kWindow, static_cast<float>(value), 0};
        KeyView view = {.length = length, .centre = centre};
        std::vector<int32_t> positions(length, -1);
        KeyList list = {.positions = positions.data()};
        const int32_t row = 0;
        const float query = 0;
        SelectReference({.rows = {&row, nullptr, 1},
                         .queries = &query,
                         .store = {},
                         .views = &view,
                         .rules = &rule,
                         .lists = &list});
        if (value >= length) {
          EXPECT_EQ(list.count, kEveryKey);
          continue;
        }
        ASSERT_EQ(list.count, value);
        for (int32_t j = 1; j < value; ++j) EXPECT_EQ(positions[j], positions[0] + j);
        EXPECT_GE(positions[0], 0);
        EXPECT_LT(positions[value - 1], length);
        EXPECT_LE(positions[0], centre);
        EXPECT_GE(positions[value - 1], centre);
        if (positions[0] > 0 && positions[value - 1] < length - 1) {
          EXPECT_EQ(positions[0], centre - value / 2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace salient
