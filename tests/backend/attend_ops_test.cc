// Attention on every backend: close to the reference, and a query's result the same to the bit beside any neighbours.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/core/bf16.h"
#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

struct AttendCall {
  SparseRows rows;
  std::vector<float> queries, output;
  std::vector<KeyView> views;
  std::vector<std::vector<int32_t>> positions;
  std::vector<KeyList> lists;
  std::vector<AttentionTally> tallies;
};

class AttendOpsTest : public BackendTest {
 protected:
  static constexpr int32_t kLayers = 2;
  static constexpr int32_t kLayer = 1;

  // Values are rounded to bf16 before both the reference and the kernel read them; what is left is arithmetic: fp32
  // sums, or, where tiles multiply bf16 by bf16, weights and queries rounded to 8 bits.
  static constexpr float kTolerance = 4e-6f;
  static constexpr float kTileTolerance = 2e-2f;

  KvLayout Layout(int32_t width, int32_t heads) {
    return {.layers = kLayers,
            .width = width,
            .heads = heads,
            .groups = 1,
            .selection_width = 8,
            .type = GetParam().kv_type.value_or(backend().kv_type())};
  }

  void Fill(TestStore& store, const TestDocument& document, int32_t width) {
    AppendAll(backend(), store, document, kLayer, Normal(static_cast<size_t>(document.positions) * 2 * width));
  }

  // A list of some of the view's keys: none, few, most or all unlisted.
  void RandomList(AttendCall& call, int32_t row) {
    const KeyView& view = call.views[row];
    const int32_t kind = Uniform(0, 4);
    if (kind == 0) {
      call.lists[row].count = kEveryKey;
      return;
    }
    const int32_t chance = kind == 1 ? 0 : kind == 2 ? 10 : kind == 3 ? 50 : 100;
    for (int32_t j = 0; j < view.length; ++j) {
      if (Uniform(0, 99) < chance) call.positions[row].push_back(view.Position(j));
    }
    call.lists[row] = {.positions = call.positions[row].data(),
                       .count = static_cast<int32_t>(call.positions[row].size())};
  }

  // Lists that leave out every 20th key, and one that is empty: sparse, but dense enough for tiles everywhere.
  void LeaveOutFew(AttendCall& call) {
    for (int32_t i = 0; i < call.rows.size(); ++i) {
      const int32_t row = call.rows[i];
      call.positions[row].clear();
      for (int32_t j = 0; j < call.views[row].length && i != 7; ++j) {
        if ((i + j) % 20 != 0) call.positions[row].push_back(call.views[row].Position(j));
      }
      call.lists[row] = {.positions = call.positions[row].data(),
                         .count = static_cast<int32_t>(call.positions[row].size())};
    }
  }

  // Rows over random prefixes of the documents, one after the other.
  AttendCall RandomCall(const std::vector<TestDocument>& documents, int32_t rows, int32_t width, bool full_length) {
    AttendCall call;
    call.rows = SparseRows(rows);
    call.queries = Normal(static_cast<size_t>(call.rows.capacity()) * width);
    call.output.assign(call.queries.size(), -777.0f);
    call.views.resize(call.rows.end() + 1);
    call.positions.resize(call.views.size());
    call.lists.resize(call.views.size());
    call.tallies.resize(call.views.size());
    for (int32_t i = 0; i < rows; ++i) {
      const TestDocument& document = documents[static_cast<size_t>(i) * documents.size() / rows];
      const int32_t all =
          document.candidates.empty() ? document.positions : static_cast<int32_t>(document.candidates.size());
      const int32_t row = call.rows[i];
      call.views[row] = ViewOf(document, full_length ? all : Uniform(0, all));
      RandomList(call, row);
    }
    return call;
  }

  AttendArgs Args(AttendCall& call, TestStore& store, int32_t heads, bool lists) {
    return {.rows = call.rows.rows(),
            .queries = call.queries.data(),
            .heads = heads,
            .store = store.pages(),
            .layer = kLayer,
            .views = call.views.data(),
            .lists = lists ? call.lists.data() : nullptr,
            .output = call.output.data(),
            .tallies = call.tallies.data()};
  }

  void ExpectReferences(AttendCall& call, TestStore& store, int32_t heads, bool lists, float tolerance) {
    std::vector<float> expected = call.output;
    std::vector<AttentionTally> expected_tallies(call.tallies.size());
    AttendArgs args = Args(call, store, heads, lists);
    args.output = expected.data();
    args.tallies = expected_tallies.data();
    AttendReference(args);
    std::fill(call.tallies.begin(), call.tallies.end(), AttentionTally());
    backend().Attend(Args(call, store, heads, lists));
    EXPECT_LE(LargestDifference(expected.data(), call.output.data(), expected.size()), tolerance)
        << heads << " heads, width " << store.pages().layout.width << ", " << call.rows.size() << " rows; "
        << WhereDifferent(expected.data(), call.output.data(), expected.size(), store.pages().layout.width);
    for (size_t row = 0; row < call.tallies.size(); ++row) {
      EXPECT_EQ(call.tallies[row].visible, expected_tallies[row].visible);
      EXPECT_EQ(call.tallies[row].attended, expected_tallies[row].attended);
      EXPECT_GE(call.tallies[row].executed, call.tallies[row].attended);
      EXPECT_EQ(call.tallies[row].scored, 0);
    }
  }

  // Documents take their rows together, so that a kernel that shares keys among a document's queries may run.
  void ExpectSameBitsAmongOtherDocuments(const std::vector<int32_t>& lengths, int32_t rows_each, int32_t width,
                                         int32_t heads, bool full_length) {
    int32_t total = 0;
    for (int32_t length : lengths) total += length;
    TestStore store(backend(), Layout(width, heads),
                    TestStore::PagesWithGaps(total, static_cast<int32_t>(lengths.size())));
    std::vector<TestDocument> documents;
    for (int32_t length : lengths) {
      documents.push_back(store.Add(length));
      Fill(store, documents.back(), width);
    }
    const int32_t n = static_cast<int32_t>(documents.size());
    AttendCall call = RandomCall(documents, n * rows_each, width, full_length);
    backend().Attend(Args(call, store, heads, true));
    const std::vector<float> together = call.output;
    for (int32_t d = 0; d < n; ++d) {
      std::vector<int32_t> own;
      for (int32_t i = 0; i < rows_each; ++i) own.push_back(call.rows[d * rows_each + i]);
      AttendArgs args = Args(call, store, heads, true);
      args.rows = {own.data(), nullptr, rows_each};
      const size_t at = static_cast<size_t>(d) * rows_each * width;
      args.queries = call.queries.data() + at;
      std::vector<float> alone(static_cast<size_t>(rows_each) * width);
      args.output = alone.data();
      backend().Attend(args);
      EXPECT_TRUE(SameBits(alone.data(), together.data() + at, alone.size()))
          << "document " << d << " of length " << lengths[d] << ", width " << width << ", " << rows_each << " rows";
    }
  }

  float ToleranceOf() const { return GetParam().bf16_tiles() ? kTileTolerance : kTolerance; }
};

INSTANTIATE_TEST_SUITE_P(All, AttendOpsTest, testing::ValuesIn(BackendCasesOfKeys()), CaseName);

struct AttendShape {
  int32_t width, heads;
};
constexpr AttendShape kShapes[] = {{32, 1},  {32, 4},  {48, 3},  {48, 4},  {64, 1},   {64, 2},
                                   {256, 4}, {256, 8}, {512, 8}, {96, 32}, {512, 256}};

TEST_P(AttendOpsTest, KeysAndValuesAreStoredLikeTheReferences) {
  for (int32_t width : {12, 32, 48, 512}) {
    TestStore store(backend(), Layout(width, 4), 12), expected(backend(), Layout(width, 4), 12);
    const TestDocument document = store.Add(130);
    std::vector<float> key_value = Normal(130 * 2 * width);
    key_value[0] = std::numeric_limits<float>::quiet_NaN();
    key_value[1] = std::numeric_limits<float>::infinity();
    key_value[2] = 1.00390625f;  // halfway between two bf16: to the even one
    key_value[3] = 3.4e38f;      // rounds up to infinity
    key_value[4] = 1e-40f;
    const std::vector<KeyView> views(130, ViewOf(document, 0));
    std::vector<int32_t> positions(130);
    for (int32_t i = 0; i < 130; ++i) positions[i] = 129 - i;
    AppendKeyValueArgs args = {.rows = Rows::First(130),
                               .key_value = key_value.data(),
                               .store = store.pages(),
                               .layer = kLayer,
                               .views = views.data(),
                               .positions = positions.data()};
    backend().AppendKeyValue(args);
    args.store = expected.pages();
    AppendKeyValueReference(args);
    for (int32_t page : document.pages) {
      ASSERT_EQ(0,
                std::memcmp(store.pages().Page(page), expected.pages().Page(page), store.pages().layout.page_bytes()));
    }
  }
}

TEST_P(AttendOpsTest, SingleQueriesAreTheReferences) {
  for (const AttendShape& shape : kShapes) {
    TestStore store(backend(), Layout(shape.width, shape.heads), TestStore::PagesWithGaps(1000, 11));
    std::vector<TestDocument> documents;
    for (int32_t length : {1, 2, 15, 16, 17, 63, 64, 65, 130, 300}) {
      documents.push_back(store.Add(length));
      Fill(store, documents.back(), shape.width);
    }
    for (int32_t rows : {0, 1, 2, 10, 37}) {
      AttendCall call = RandomCall(documents, rows, shape.width, false);
      ExpectReferences(call, store, shape.heads, true, kTolerance);
      ExpectReferences(call, store, shape.heads, false, kTolerance);
    }
  }
}

TEST_P(AttendOpsTest, BeamsReadTheirOwnHistory) {
  constexpr int32_t kWidth = 64, kBeam = 5;
  TestStore store(backend(), Layout(kWidth, 2), TestStore::PagesWithGaps(500, 5));
  std::vector<TestDocument> documents(1, store.Add(80 * kBeam));
  Fill(store, documents[0], kWidth);
  documents.resize(kBeam, documents[0]);
  for (TestDocument& hypothesis : documents) {
    for (int32_t step = 0; step < 80; ++step) hypothesis.candidates.push_back(step * kBeam + Uniform(0, kBeam - 1));
  }
  AttendCall call = RandomCall(documents, 60, kWidth, false);
  ExpectReferences(call, store, 2, true, kTolerance);
  ExpectReferences(call, store, 2, false, kTolerance);
}

TEST_P(AttendOpsTest, ManyQueriesOfADocumentAreTheReferences) {
  for (const AttendShape& shape :
       {AttendShape{32, 4}, AttendShape{48, 4}, AttendShape{64, 1}, AttendShape{96, 2}, AttendShape{256, 4}}) {
    for (int32_t length : {1, 40, 64, 130, 201}) {
      TestStore store(backend(), Layout(shape.width, shape.heads), TestStore::PagesWithGaps(2 * length, 3));
      std::vector<TestDocument> documents = {store.Add(length), store.Add(length)};
      for (const TestDocument& document : documents) Fill(store, document, shape.width);
      for (bool full_length : {false, true}) {
        AttendCall call = RandomCall(documents, 2 * length, shape.width, full_length);
        ExpectReferences(call, store, shape.heads, true, ToleranceOf());
        ExpectReferences(call, store, shape.heads, false, ToleranceOf());
        LeaveOutFew(call);
        ExpectReferences(call, store, shape.heads, true, ToleranceOf());
      }
    }
  }
}

// Heads that fill tiles in part, and heads that take several.
TEST_P(AttendOpsTest, HeadsOfManyWidthsShareTiles) {
  constexpr int32_t kLength = 130;
  for (const AttendShape& shape :
       {AttendShape{64, 4}, AttendShape{64, 2}, AttendShape{96, 1}, AttendShape{128, 1}, AttendShape{256, 1}}) {
    TestStore store(backend(), Layout(shape.width, shape.heads), TestStore::PagesWithGaps(kLength, 1));
    const std::vector<TestDocument> documents = {store.Add(kLength)};
    Fill(store, documents[0], shape.width);
    AttendCall call = RandomCall(documents, kLength, shape.width, true);
    ExpectReferences(call, store, shape.heads, true, ToleranceOf());
    ExpectReferences(call, store, shape.heads, false, ToleranceOf());
  }
}

// Says which of the two ways was taken, so that the tests above and below are known to have tried both.
TEST_P(AttendOpsTest, DenseQueriesOfADocumentShareTilesAndFewDoNot) {
  constexpr int32_t kWidth = 64, kLength = 100;
  TestStore store(backend(), Layout(kWidth, 2), 8);
  const std::vector<TestDocument> documents = {store.Add(kLength)};
  Fill(store, documents[0], kWidth);
  for (int32_t rows : {16, 100}) {
    AttendCall call = RandomCall(documents, rows, kWidth, true);
    backend().Attend(Args(call, store, 2, false));
    const int64_t whole_pages = 2 * kPagePositions;
    const bool tiles = GetParam().tiles() && rows == 100;
    EXPECT_EQ(call.tallies[call.rows[0]].executed, tiles ? whole_pages : kLength) << rows << " rows";
  }
}

// Documents that tiles take beside documents of too few rows and of too few keys, whose rows are left to be computed
// one by one; then the same in another order, with as many rows.
TEST_P(AttendOpsTest, WhatTilesLeaveIsComputedRowByRow) {
  constexpr int32_t kWidth = 64, kHeads = 2, kLength = 200;
  struct Part {
    int32_t rows;
    bool few_keys;
  };
  constexpr Part kDense = {128, false}, kShort = {20, false}, kSparse = {64, true};
  TestStore store(backend(), Layout(kWidth, kHeads), TestStore::PagesWithGaps(3 * kLength, 3));
  std::vector<TestDocument> documents;
  for (int d = 0; d < 3; ++d) {
    documents.push_back(store.Add(kLength));
    Fill(store, documents.back(), kWidth);
  }
  AttendCall call = RandomCall(documents, 128 + 20 + 64, kWidth, true);
  for (const std::vector<Part>& order : {std::vector{kDense, kShort, kSparse}, std::vector{kSparse, kDense, kShort}}) {
    int32_t i = 0;
    for (size_t d = 0; d < order.size(); ++d) {
      for (int32_t k = 0; k < order[d].rows; ++k) {
        const int32_t row = call.rows[i++];
        call.views[row] = ViewOf(documents[d], kLength);
        std::vector<int32_t>& positions = call.positions[row];
        positions.clear();
        for (int32_t j = k % 40; j < kLength; j += 40) positions.push_back(j);
        const auto count = static_cast<int32_t>(positions.size());
        call.lists[row] = {positions.data(), order[d].few_keys ? count : kEveryKey};
      }
    }
    ExpectReferences(call, store, kHeads, true, ToleranceOf());
    if (!GetParam().tiles() || !GetParam().cuda) continue;  // a CPU draws the line elsewhere
    i = 0;
    for (const Part& part : order) {
      for (int32_t k = 0; k < part.rows; ++k) {
        const AttentionTally& tally = call.tallies[call.rows[i++]];
        ASSERT_EQ(tally.executed, part.rows == kDense.rows ? 4 * kPagePositions : tally.attended) << part.rows;
      }
    }
  }
}

TEST_P(AttendOpsTest, LargeScoresStayFinite) {
  constexpr int32_t kWidth = 64, kLength = 100;
  TestStore store(backend(), Layout(kWidth, 2), 8);
  const std::vector<TestDocument> documents = {store.Add(kLength)};
  Fill(store, documents[0], kWidth);
  AttendCall call = RandomCall(documents, kLength, kWidth, true);
  for (float& query : call.queries) query *= 1000.0f;
  backend().Attend(Args(call, store, 2, true));
  for (size_t i = 0; i < static_cast<size_t>(kLength) * kWidth; ++i) {
    ASSERT_LE(std::abs(call.output[i]), 6.0f) << i;
  }
}

// Every page's scores are some 100 powers of two above the page's before, for some queries; for the others below. So
// the last or the first page that a query reads is all that counts, and a mean of its values what is expected.
TEST_P(AttendOpsTest, ScoresMayRiseAndFallFromPageToPage) {
  constexpr int32_t kWidth = 64, kHeads = 2, kLength = 5 * kPagePositions - 7;
  TestStore store(backend(), Layout(kWidth, kHeads), TestStore::PagesWithGaps(kLength, 1));
  const std::vector<TestDocument> documents = {store.Add(kLength)};
  std::vector<float> key_value = Normal(static_cast<size_t>(kLength) * 2 * kWidth);
  for (int32_t i = 0; i < kLength; ++i) {
    std::fill_n(key_value.begin() + static_cast<size_t>(i) * 2 * kWidth, kWidth,
                static_cast<float>(i / kPagePositions));
  }
  AppendAll(backend(), store, documents[0], kLayer, key_value);
  AttendCall call = RandomCall(documents, kLength, kWidth, true);
  for (int32_t i = 0; i < kLength; ++i) {
    std::fill_n(call.queries.begin() + static_cast<size_t>(i) * kWidth, kWidth, i % 3 == 0 ? -12.0f : 12.0f);
  }
  for (bool lists : {false, true}) {
    ExpectReferences(call, store, kHeads, lists, ToleranceOf());
  }
}

TEST_P(AttendOpsTest, AQueryDoesNotDependOnOtherRows) {
  for (const AttendShape& shape : {AttendShape{64, 2}, AttendShape{96, 3}, AttendShape{512, 8}}) {
    ExpectSameBitsAmongOtherDocuments({1, 30, 64, 100, 300, 5, 700}, 1, shape.width, shape.heads, true);
    ExpectSameBitsAmongOtherDocuments({20, 33, 300}, 16, shape.width, shape.heads, false);
  }
}

TEST_P(AttendOpsTest, ADocumentsQueriesDoNotDependOnOtherDocuments) {
  for (const AttendShape& shape : {AttendShape{64, 2}, AttendShape{96, 3}, AttendShape{256, 4}}) {
    ExpectSameBitsAmongOtherDocuments({100, 64, 130, 257}, 90, shape.width, shape.heads, true);
    ExpectSameBitsAmongOtherDocuments({100, 64, 130, 257}, 90, shape.width, shape.heads, false);
  }
}

// A queue that leaves room for others computes the same with fewer blocks, each of which takes several parts of the
// work, one after the other: also on a GPU, where the last case has a tile for each of 120 multiprocessors. Documents
// of an odd and of an even number of pages.
TEST_P(AttendOpsTest, RoomForOthersChangesNothing) {
  struct Case {
    AttendShape shape;
    int32_t documents, rows_each;
  };
  constexpr int32_t kLengths[] = {300, 100, 170};
  for (const Case& one : {Case{{256, 4}, 3, 150}, Case{{256, 2}, 3, 150}, Case{{256, 8}, 15, 34}}) {
    const auto [width, heads] = one.shape;
    TestStore store(backend(), Layout(width, heads), TestStore::PagesWithGaps(one.documents * 300, one.documents));
    std::vector<TestDocument> documents;
    for (int32_t d = 0; d < one.documents; ++d) {
      documents.push_back(store.Add(kLengths[d % 3]));
      Fill(store, documents.back(), width);
    }
    AttendCall call = RandomCall(documents, one.documents * one.rows_each, width, true);
    LeaveOutFew(call);
    backend().Attend(Args(call, store, heads, true));
    const std::vector<float> expected = std::exchange(call.output, std::vector<float>(call.output.size(), -777.0f));
    const std::vector<AttentionTally> tallies =
        std::exchange(call.tallies, std::vector<AttentionTally>(call.tallies.size()));
    backend().LeaveRoom(true);
    backend().Attend(Args(call, store, heads, true));
    backend().LeaveRoom(false);
    EXPECT_TRUE(SameBits(call.output.data(), expected.data(), expected.size())) << heads << " heads";
    for (size_t row = 0; row < tallies.size(); ++row) EXPECT_EQ(call.tallies[row].executed, tallies[row].executed);
  }
}

// As an encoder passes them when its work is sliced.
TEST_P(AttendOpsTest, ADocumentsQueriesMayComeInParts) {
  constexpr int32_t kWidth = 64, kHeads = 2, kLength = 5 * kQueryPart + 40;
  TestStore store(backend(), Layout(kWidth, kHeads), TestStore::PagesWithGaps(kLength, 1));
  const std::vector<TestDocument> documents = {store.Add(kLength)};
  Fill(store, documents[0], kWidth);
  for (bool few : {false, true}) {
    AttendCall call = RandomCall(documents, kLength, kWidth, true);
    if (few) LeaveOutFew(call);
    backend().Attend(Args(call, store, kHeads, true));
    const std::vector<float> whole = call.output;
    const std::vector<AttentionTally> tallies = call.tallies;
    std::fill(call.output.begin(), call.output.end(), 0.0f);
    std::fill(call.tallies.begin(), call.tallies.end(), AttentionTally());
    for (int32_t first = 0; first < kLength;) {
      const int32_t last = first < 2 * kQueryPart ? first + kQueryPart : first + 2 * kQueryPart;
      const int32_t size = (last + kQueryPart > kLength ? kLength : last) - first;
      std::vector<int32_t> part;
      for (int32_t i = 0; i < size; ++i) part.push_back(call.rows[first + i]);
      AttendArgs args = Args(call, store, kHeads, true);
      args.rows = {part.data(), nullptr, size};
      args.queries += static_cast<size_t>(first) * kWidth;
      args.output += static_cast<size_t>(first) * kWidth;
      args.same_keys = first > 0;
      backend().Attend(args);
      first += size;
    }
    EXPECT_TRUE(SameBits(call.output.data(), whole.data(), static_cast<size_t>(kLength) * kWidth));
    for (size_t row = 0; row < tallies.size(); ++row) EXPECT_EQ(call.tallies[row].executed, tallies[row].executed);
  }
}

TEST(BF16Test, RoundsToNearestEven) {
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.0f)), 1.0f);
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.00390625f)), 1.0f);        // a tie goes down to the even one
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.01171875f)), 1.015625f);   // and up to the even one
  EXPECT_EQ(BF16ToFloat(FloatToBF16(1.00390637f)), 1.0078125f);  // just above a tie
  EXPECT_EQ(BF16ToFloat(FloatToBF16(-2.5f)), -2.5f);
  EXPECT_TRUE(std::isnan(BF16ToFloat(FloatToBF16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(BF16ToFloat(FloatToBF16(3.4e38f))));
}

}  // namespace
}  // namespace salient
