// Alignment by cross-attention on every backend: the source token of the row's piece with the greatest mean weight.

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

class AlignOpsTest : public BackendTest {
 protected:
  // Only a store of int8 keys needs to know of heads.
  KvLayout Layout(int32_t layers, int32_t width, int32_t heads) {
    const ElementType type = GetParam().kv_type.value_or(backend().kv_type());
    return {.layers = layers, .width = width, .heads = type == ElementType::kInt8 ? heads : 0, .type = type};
  }
};
INSTANTIATE_TEST_SUITE_P(All, AlignOpsTest, testing::ValuesIn(BackendCasesOfKeys()), CaseName);

TEST_P(AlignOpsTest, IsTheReferencesWithinThePiece) {
  constexpr int32_t kHeads = 4, kWidth = 32, kLayer = 1, kPositions = 700, kRows = 40;
  TestStore store(backend(), Layout(2, kWidth, kHeads), TestStore::PagesWithGaps(kPositions, 1));
  const TestDocument document = store.Add(kPositions);
  AppendAll(backend(), store, document, kLayer, Normal(static_cast<size_t>(kPositions) * 2 * kWidth));

  const std::vector<ScriptPiece> pieces = {{9, 0, 1}, {9, 1, 30}, {9, 31, 600}, {9, 631, kPositions - 631}};
  const Script asks{.pieces = pieces.data(), .piece_count = 4, .aligns = true}, silent{.pieces = pieces.data()};
  const SparseRows rows(kRows);
  std::vector<const Script*> scripts(rows.end() + 1, nullptr);
  std::vector<KeyView> views(rows.end() + 1);
  std::vector<int32_t> segments(rows.end() + 1), expected(rows.end() + 1, -7);
  for (int32_t i = 0; i < kRows; ++i) {
    scripts[rows[i]] = i % 5 == 4 ? &silent : &asks;
    views[rows[i]] = ViewOf(document, kPositions);
    segments[rows[i]] = i % 4;
  }
  std::vector<int32_t> got = expected;
  std::vector<float> queries = Normal(static_cast<size_t>(rows.capacity()) * kWidth, 2.0f);
  for (int32_t i = 0; i < 8; ++i) queries[i * kWidth] = std::numeric_limits<float>::quiet_NaN();
  AlignArgs args{.rows = rows.rows(),
                 .queries = queries.data(),
                 .heads = kHeads,
                 .store = store.pages(),
                 .layer = kLayer,
                 .views = views.data(),
                 .scripts = scripts.data(),
                 .segments = segments.data(),
                 .aligned = expected.data()};
  Align(args);
  args.aligned = got.data();
  backend().Align(args);
  EXPECT_EQ(got, expected);
  for (int32_t i = 0; i < kRows; ++i) {
    const ScriptPiece& piece = pieces[i % 4];
    if (i % 5 == 4) {
      EXPECT_EQ(got[rows[i]], -7);
    } else {
      EXPECT_GE(got[rows[i]], piece.source_start);
      EXPECT_LT(got[rows[i]], piece.source_start + piece.source_length);
    }
  }
}

// A query that is a key: its token is found.
TEST_P(AlignOpsTest, AQueryFindsItsKey) {
  constexpr int32_t kHeads = 2, kWidth = 16, kPositions = 90;
  TestStore store(backend(), Layout(1, kWidth, kHeads), TestStore::PagesWithGaps(kPositions, 1));
  const TestDocument document = store.Add(kPositions);
  const std::vector<float> key_value = Normal(static_cast<size_t>(kPositions) * 2 * kWidth, 3.0f);
  AppendAll(backend(), store, document, 0, key_value);
  const ScriptPiece piece{9, 0, kPositions};
  const Script script{.pieces = &piece, .piece_count = 1, .aligns = true};
  int32_t found = 0;
  for (int32_t wanted = 0; wanted < kPositions; ++wanted) {
    std::vector<float> query(key_value.begin() + wanted * 2 * kWidth, key_value.begin() + wanted * 2 * kWidth + kWidth);
    const Script* scripts = &script;
    const KeyView view = ViewOf(document, kPositions);
    const int32_t segment = 0;
    int32_t aligned = -1;
    backend().Align({.rows = Rows::First(1),
                     .queries = query.data(),
                     .heads = kHeads,
                     .store = store.pages(),
                     .views = &view,
                     .scripts = &scripts,
                     .segments = &segment,
                     .aligned = &aligned});
    found += aligned == wanted;
  }
  EXPECT_GT(found, kPositions * 8 / 10);
}

}  // namespace
}  // namespace salient
