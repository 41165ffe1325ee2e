// Exits and fills on a CUDA device: the same as the plain ones, for random steps.

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

class CudaDepthTest : public BackendTest {};
SALIENT_TEST_ALL_BACKENDS(CudaDepthTest);

TEST_P(CudaDepthTest, ExitsAreDecidedLikeThePlainOnes) {
  constexpr int32_t kLayers = 6;
  for (const int32_t n : {0, 1, 40, 300}) {
    const SparseRows rows(n);
    const size_t end = rows.end() + 1;
    std::vector<ExitRule> rules(end);
    for (ExitRule& rule : rules) {
      rule = {static_cast<DepthPolicy>(Uniform(2, 6)), Uniform(1, kLayers), Uniform(1, 3), Uniform(3, kLayers)};
      for (float& threshold : rule.thresholds) threshold = 0.5f;
    }
    const std::vector<float> signal = Normal(end), logits = Normal(static_cast<size_t>(rows.capacity()) * kLayers);
    std::vector<ExitRule> resolved = rules, expected_resolved = rules;
    ResolveExitsArgs resolve = {.rows = rows.rows(), .logits = logits.data(), .layers = kLayers, .rules = rules.data()};
    resolve.resolved = expected_resolved.data();
    ResolveExits(resolve);
    resolve.resolved = resolved.data();
    backend().ResolveExits(resolve);
    EXPECT_EQ(0, std::memcmp(resolved.data(), expected_resolved.data(), end * sizeof(ExitRule)));

    for (int32_t layer = 1; layer <= kLayers; ++layer) {
      std::vector<int32_t> exit_at(end, 0), staying(rows.capacity(), -1), expected_exit_at = exit_at,
                                                                          expected_staying = staying;
      int32_t count = -1, expected_count = -1;
      DecideExitsArgs args = {.active = rows.rows(), .layer = layer, .rules = rules.data(), .signal = signal.data()};
      args.exit_at = expected_exit_at.data();
      args.staying = expected_staying.data();
      args.staying_count = &expected_count;
      DecideExits(args);
      args.exit_at = exit_at.data();
      args.staying = staying.data();
      args.staying_count = &count;
      backend().DecideExits(args);
      EXPECT_EQ(count, expected_count);
      EXPECT_EQ(exit_at, expected_exit_at);
      EXPECT_EQ(staying, expected_staying);

      std::vector<int32_t> held_at(end);
      for (int32_t& held : held_at) held = Uniform(0, kLayers - 1);
      for (const RowFilter filter : {RowFilter::kRunning, RowFilter::kLeft, RowFilter::kComparesConfidence}) {
        std::vector<int32_t> picked(rows.capacity(), -1), expected_picked = picked;
        PickRowsArgs pick = {.rows = rows.rows(),
                             .filter = filter,
                             .layer = layer,
                             .held_at = held_at.data(),
                             .exit_at = exit_at.data(),
                             .rules = rules.data(),
                             .picked = expected_picked.data(),
                             .count = &expected_count};
        PickRows(pick);
        pick.picked = picked.data();
        pick.count = &count;
        backend().PickRows(pick);
        EXPECT_EQ(count, expected_count);
        EXPECT_EQ(picked, expected_picked);
      }
    }
  }
}

TEST_P(CudaDepthTest, FixedExitsNeedNoSignal) {
  const SparseRows rows(40);
  std::vector<ExitRule> rules(rows.end() + 1);
  for (ExitRule& rule : rules) rule = {DepthPolicy::kFixed, Uniform(1, 4), 1, 4};
  std::vector<int32_t> exit_at(rules.size(), 0), expected_exit_at = exit_at, staying(rows.capacity(), -1),
                                                 expected_staying = staying;
  int32_t count = -1, expected_count = -1;
  DecideExits({.active = rows.rows(),
               .layer = 2,
               .rules = rules.data(),
               .exit_at = expected_exit_at.data(),
               .staying = expected_staying.data(),
               .staying_count = &expected_count});
  backend().DecideExits({.active = rows.rows(),
                         .layer = 2,
                         .rules = rules.data(),
                         .exit_at = exit_at.data(),
                         .staying = staying.data(),
                         .staying_count = &count});
  EXPECT_EQ(count, expected_count);
  EXPECT_EQ(exit_at, expected_exit_at);
  EXPECT_EQ(staying, expected_staying);
}

// Chunks with one to three rows each, decoded for some steps, with exits drawn at random.
struct Chunks {
  std::vector<TestDocument> documents;
  std::vector<std::vector<uint8_t>> exit_of;
  std::vector<std::vector<int32_t>> filled_to;
  std::vector<FillLedger> ledgers;
  std::vector<int32_t> chunk_of;  // by row
};

TEST_P(CudaDepthTest, FillsAreCollectedLikeThePlainOnes) {
  constexpr int32_t kWidth = 8, kLayers = 4, kPositions = 20, kRows = 24, kFills = 96;
  for (int32_t round = 0; round < 20; ++round) {
    TestStore store(backend(), {.layers = 1, .width = kWidth, .exit_states = true}, 64);
    Chunks made;
    while (made.chunk_of.size() < kRows - 3) {
      const int32_t beam = Uniform(1, 3), chunk = static_cast<int32_t>(made.ledgers.size());
      made.documents.push_back(store.Add(kPositions * beam));
      made.exit_of.emplace_back(kPositions * beam, kNoExit);
      for (uint8_t& exit : made.exit_of.back()) {
        if (Uniform(0, 5) > 0) exit = static_cast<uint8_t>(Uniform(1, kLayers));
      }
      made.filled_to.emplace_back();
      for (int32_t n = 0; n < kLayers; ++n) made.filled_to.back().push_back(Uniform(0, 5 * beam));
      made.ledgers.push_back({nullptr, nullptr, beam, Uniform(1, kLayers)});
      for (int32_t i = 0; i < beam; ++i) made.chunk_of.push_back(chunk);
    }
    const auto rows = static_cast<int32_t>(made.chunk_of.size());
    std::vector<KeyView> views(rows + kFills);
    std::vector<FillLedger*> ledgers(rows);
    std::vector<int32_t> steps(rows + kFills), active;
    for (size_t w = 0; w < made.ledgers.size(); ++w) {
      made.ledgers[w].exit_of = made.exit_of[w].data();
      for (int32_t position = 0; position < made.documents[w].positions; ++position) {
        float* state = store.pages().ExitState(made.documents[w].pages.data(), position);
        for (int32_t c = 0; c < kWidth; ++c) state[c] = static_cast<float>(1000 * w + position);
      }
    }
    std::vector<int32_t> step_of(made.ledgers.size());
    for (int32_t& step : step_of) step = Uniform(5, kPositions);
    for (int32_t row = 0; row < rows; ++row) {
      views[row] = ViewOf(made.documents[made.chunk_of[row]], 0);
      ledgers[row] = &made.ledgers[made.chunk_of[row]];
      steps[row] = step_of[made.chunk_of[row]];
      if (Uniform(0, 1) == 0) active.push_back(row);
    }

    // Runs it on copies of what it changes; returns all of that in one.
    const auto run = [&](auto&& collect, int32_t layer, int32_t patience, int32_t capacity) {
      std::vector<std::vector<int32_t>> filled_to = made.filled_to;
      for (size_t w = 0; w < made.ledgers.size(); ++w) made.ledgers[w].filled_to = filled_to[w].data();
      std::vector<KeyView> fill_views = views;
      std::vector<int32_t> fill_positions(rows + kFills, -1), fill_steps = steps, fills(rows, 0), count(1, -1),
                                                              extended(rows + kFills, -1), extended_count(1, -1);
      std::vector<float> states((rows + kFills) * kWidth, -1.0f);
      collect(CollectFillsArgs{.active = {active.data(), nullptr, static_cast<int32_t>(active.size())},
                               .all = Rows::First(rows),
                               .patience = patience,
                               .layer = layer,
                               .ledgers = ledgers.data(),
                               .steps = fill_steps.data(),
                               .views = fill_views.data(),
                               .store = store.pages(),
                               .first_row = rows,
                               .capacity = capacity,
                               .states = states.data(),
                               .fill_views = fill_views.data(),
                               .fill_positions = fill_positions.data(),
                               .fill_steps = fill_steps.data(),
                               .fills = fills.data(),
                               .count = count.data(),
                               .extended = extended.data(),
                               .extended_count = extended_count.data()});
      std::vector<int32_t> everything = count;
      for (const std::vector<int32_t>& one : filled_to) everything.insert(everything.end(), one.begin(), one.end());
      for (const auto* one : {&fill_positions, &fill_steps, &fills, &extended, &extended_count}) {
        everything.insert(everything.end(), one->begin(), one->end());
      }
      for (const float state : states) everything.push_back(static_cast<int32_t>(state));
      return everything;
    };
    for (int32_t layer = 2; layer <= kLayers; ++layer) {
      for (const int32_t patience : {0, 3, 10}) {
        const int32_t capacity = round % 4 == 0 ? 5 : kFills;
        const auto plain = run([](const CollectFillsArgs& args) { CollectFills(args); }, layer, patience, capacity);
        const auto ours =
            run([&](const CollectFillsArgs& args) { backend().CollectFills(args); }, layer, patience, capacity);
        ASSERT_EQ(ours, plain) << "layer " << layer << ", patience " << patience << ", round " << round;
      }
    }
  }
}

TEST_P(CudaDepthTest, ExitStatesAreKept) {
  constexpr int32_t kWidth = 40, kLayers = 3;
  TestStore store(backend(), {.layers = 1, .width = kWidth, .exit_states = true}, 8);
  const TestDocument document = store.Add(100);
  const SparseRows rows(10);
  const size_t end = rows.end() + 1;
  std::vector<uint8_t> exit_of(100, kNoExit);
  FillLedger ledger = {.exit_of = exit_of.data()};
  const std::vector<FillLedger*> ledgers(end, &ledger);
  const std::vector<KeyView> views(end, ViewOf(document, 0));
  const std::vector<float> states = Normal(end * kWidth);
  std::vector<int32_t> exit_at(end), positions(end);
  for (size_t row = 0; row < end; ++row) exit_at[row] = 1 + static_cast<int32_t>(row) % kLayers;
  for (size_t row = 0; row < end; ++row) positions[row] = static_cast<int32_t>(row) * 3;
  backend().KeepExitStates({.rows = rows.rows(),
                            .states = states.data(),
                            .exit_at = exit_at.data(),
                            .layers = kLayers,
                            .ledgers = ledgers.data(),
                            .views = views.data(),
                            .positions = positions.data(),
                            .store = store.pages()});
  int32_t kept = 0;
  for (int32_t i = 0; i < rows.size(); ++i) {
    const int32_t row = rows[i];
    EXPECT_EQ(exit_of[positions[row]], exit_at[row]);
    if (exit_at[row] == kLayers) continue;
    ++kept;
    const float* state = store.pages().ExitState(document.pages.data(), positions[row]);
    EXPECT_TRUE(SameBits(state, states.data() + static_cast<size_t>(row) * kWidth, kWidth));
  }
  EXPECT_GT(kept, 0);
}

}  // namespace
}  // namespace salient
