// Steps made ahead on every backend: the next step of greedy translations and of beams, the same as by the plain
// operation, step after step until all have ended.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "engine/search/constraint.h"
#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kGroupSteps = 3, kSteps = 60, kTokens = 60;
constexpr SpecialTokens kSpecial = {.first_marker = 20, .markers = 8};

// What Advance writes, beside what it reads of chunks: copied, it keeps its addresses.
struct State {
  std::vector<int32_t> rows, count, token, step, offset, segment, position, fills, aligned, record_step;
  std::vector<uint8_t> goes_on;
  std::vector<KeyView> self_view, cross_view;
  std::vector<ExitRule> exit_rule;
  std::vector<TokenConstraint> constraint;
  std::vector<MarkerState> markers;
  std::vector<AttentionTally> self_tally, cross_tally;
  std::vector<StepRecord> records;
  std::vector<Candidate> recorded;
  std::vector<Beam> beams;
  std::vector<int32_t> histories;

  // Puts back what was, where it was.
  void Restore(const State& was) {
    const auto put = [](auto& to, const auto& from) { std::copy(from.begin(), from.end(), to.begin()); };
    put(rows, was.rows), put(count, was.count), put(token, was.token), put(step, was.step);
    put(offset, was.offset), put(segment, was.segment), put(position, was.position), put(fills, was.fills);
    put(aligned, was.aligned);
    put(record_step, was.record_step), put(goes_on, was.goes_on), put(self_view, was.self_view);
    put(cross_view, was.cross_view), put(exit_rule, was.exit_rule), put(constraint, was.constraint);
    put(markers, was.markers);
    put(self_tally, was.self_tally), put(cross_tally, was.cross_tally), put(records, was.records);
    put(recorded, was.recorded), put(beams, was.beams), put(histories, was.histories);
  }

  // All of it, as numbers.
  std::vector<int64_t> Flat() const {
    std::vector<int64_t> all;
    for (const auto* one :
         {&count, &token, &step, &offset, &segment, &position, &fills, &aligned, &record_step, &histories}) {
      all.insert(all.end(), one->begin(), one->end());
    }
    all.insert(all.end(), rows.begin(), rows.begin() + count[0]);
    all.insert(all.end(), goes_on.begin(), goes_on.end());
    for (const auto* views : {&self_view, &cross_view}) {
      for (const KeyView& view : *views) {
        const int64_t candidates = view.candidates == nullptr ? -1 : view.candidates - histories.data();
        all.insert(all.end(), {candidates, view.length, view.centre});
      }
    }
    for (const ExitRule& rule : exit_rule) all.insert(all.end(), {static_cast<int64_t>(rule.policy), rule.at});
    for (const TokenConstraint& one : constraint) {
      all.insert(all.end(), {one.forced, one.allow_separator, one.allow_end, one.markers, one.stand_in});
    }
    for (const MarkerState& one : markers) {
      all.insert(all.end(), {one.missing, one.depth, static_cast<int64_t>(one.open)});
    }
    for (const auto* tallies : {&self_tally, &cross_tally}) {
      for (const AttentionTally& tally : *tallies) {
        all.insert(all.end(), {tally.visible, tally.attended, tally.executed, tally.scored});
      }
    }
    for (const StepRecord& record : records) {
      all.insert(all.end(), {record.exit_at, record.fills, record.aligned, record.self.visible, record.cross.scored});
    }
    for (const Candidate& one : recorded) {
      all.insert(all.end(), {one.token, std::bit_cast<int32_t>(one.log_probability)});
    }
    for (const Beam& beam : beams) {
      all.push_back(beam.finished);
      for (const double total : beam.total) all.push_back(std::bit_cast<int64_t>(total));
    }
    return all;
  }
};

// Chunks of all widths, their rows one among the other's, at the beginning of their translations.
class AdvanceOpsTest : public BackendTest {
 protected:
  void MakeChunks(const std::vector<int32_t>& widths) {
    std::vector<int32_t> numbers;
    width_ = 1;
    for (const int32_t width : widths) width_ = std::max(width_, CandidatesWanted(width));
    for (int32_t row = 1; static_cast<int32_t>(numbers.size()) < Sum(widths); row += 1 + row % 2)
      numbers.push_back(row);
    running_ = SparseRows(numbers);
    const size_t end = running_.end() + 1;
    scripts_.assign(widths.size(), {});
    pieces_.assign(widths.size(), {});
    prefixes_.assign(widths.size(), {});
    script_of_.assign(end, nullptr);
    candidates_.assign(end * width_, kNoCandidate);
    exit_at_.assign(end, 0);
    asked_.assign(end, {});
    state_ = {};
    for (auto* one : {&state_.token, &state_.step, &state_.offset, &state_.segment, &state_.position, &state_.fills,
                      &state_.aligned}) {
      one->resize(end);
    }
    state_.rows.resize(running_.capacity());
    state_.count.resize(1);
    state_.record_step.resize(1);
    state_.goes_on.resize(end);
    state_.self_view.resize(end);
    state_.cross_view.resize(end);
    state_.exit_rule.resize(end);
    state_.constraint.resize(end);
    state_.markers.resize(end);
    state_.self_tally.resize(end);
    state_.cross_tally.resize(end);
    state_.records.resize(kSteps * end);
    state_.recorded.resize(kSteps * end * kMaxBeam * 2);
    state_.beams.resize(widths.size());
    state_.histories.resize(static_cast<size_t>(2) * Sum(widths) * kSteps, -1);
    // A chunk's rows are those with some rest, so that another's lie between them.
    std::shuffle(numbers.begin(), numbers.end(), std::minstd_rand(7));
    int32_t taken = 0;
    for (size_t w = 0; w < widths.size(); ++w) {
      std::vector<int32_t> rows(numbers.begin() + taken, numbers.begin() + taken + widths[w]);
      std::sort(rows.begin(), rows.end());
      Schedule(w, rows, state_.histories.data() + static_cast<size_t>(2) * taken * kSteps);
      taken += widths[w];
    }
    for (int32_t i = 0; i < running_.size(); ++i) {
      if (state_.goes_on[running_[i]] != 0) state_.rows[state_.count[0]++] = running_[i];
    }
  }

  // Chunk w begins in `rows`, with a hypothesis.
  void Schedule(size_t w, const std::vector<int32_t>& rows, int32_t* histories) {
    int32_t start = 0;
    for (int32_t p = Uniform(1, 3); p > 0; --p) {
      const auto markers = static_cast<uint32_t>(Uniform(0, 1) * Uniform(0, (1 << kSpecial.markers) - 1));
      const uint32_t closing = markers & (markers & 0x55) << 1;
      pieces_[w].push_back({Uniform(2, 8) + CountBits(markers), start, Uniform(1, 5), markers, closing});
      start += pieces_[w].back().source_length;
    }
    const int32_t room = pieces_[w][0].limit - CountBits(pieces_[w][0].markers);
    // At most half a piece, so that beams have room to grow.
    for (int32_t t = Uniform(0, room / 2); t > 0; --t) prefixes_[w].push_back(Uniform(5, kSpecial.first_marker - 1));
    scripts_[w] = {pieces_[w].data(), prefixes_[w].data(), static_cast<int32_t>(pieces_[w].size()),
                   static_cast<int32_t>(prefixes_[w].size())};
    const auto width = static_cast<int32_t>(rows.size());
    if (width > 1) {
      scripts_[w].beam = &state_.beams[w];
      state_.beams[w] = {.width = width, .histories = histories, .most_steps = kSteps};
      std::copy(rows.begin(), rows.end(), state_.beams[w].rows);
      histories[0] = 0;
    }
    for (const int32_t row : rows) {
      script_of_[row] = &scripts_[w];
      asked_[row] = {static_cast<DepthPolicy>(Uniform(2, 6)), Uniform(1, 6)};
    }
    state_.goes_on[rows[0]] = 1;
    state_.self_view[rows[0]] = {nullptr, width > 1 ? histories : nullptr, 1, 0};
    const SearchState first{.markers = MarkersOf(scripts_[w], 0)};
    state_.markers[rows[0]] = first.markers;
    state_.constraint[rows[0]] = ConstraintAt(first, scripts_[w], kSpecial);
  }

  // The best tokens that a row may say, few different probabilities among them, and sometimes fewer tokens than wanted,
  // or fewer that have any probability.
  void DrawCandidates() {
    for (int32_t i = 0; i < state_.count[0]; ++i) {
      const int32_t row = state_.rows[i];
      std::set<int32_t> drawn;
      if (const int32_t forced = state_.constraint[row].forced; forced >= 0) drawn = {forced};
      const size_t wanted = drawn.empty() ? Uniform(1, width_) : 1;
      while (drawn.size() < wanted) {
        const int32_t token = Uniform(0, 3) == 0 ? Uniform(3, 4) : Uniform(5, kTokens - 1);
        if (IsAllowed(state_.constraint[row], kSpecial, token)) drawn.insert(token);
      }
      std::vector<int32_t> tokens(drawn.begin(), drawn.end());
      std::shuffle(tokens.begin(), tokens.end(), std::minstd_rand(Uniform(1, 1000)));
      const int32_t possible = Uniform(0, 7) == 0 ? Uniform(1, 3) : width_;
      float log_probability = 0;
      for (int32_t c = 0; c < width_; ++c) {
        log_probability -= 0.125f * static_cast<float>(Uniform(0, 2));
        if (c >= possible) log_probability = -kInfinity;
        candidates_[row * width_ + c] =
            c < static_cast<int32_t>(tokens.size()) ? Candidate{tokens[c], log_probability} : kNoCandidate;
      }
      exit_at_[row] = Uniform(1, 6);
      state_.fills[row] = Uniform(0, 9);
      state_.aligned[row] = Uniform(-1, 9);
      state_.self_tally[row].visible = Uniform(1, 99);
      state_.cross_tally[row].scored = Uniform(1, 99);
      state_.exit_rule[row] = {DepthPolicy::kFixed, 1};
    }
  }

  AdvanceArgs Args() {
    return {.scheduled = running_.rows(),
            .rows = state_.rows.data(),
            .count = state_.count.data(),
            .width = width_,
            .scripts = script_of_.data(),
            .special = kSpecial,
            .candidates = candidates_.data(),
            .exit_at = exit_at_.data(),
            .asked = asked_.data(),
            .goes_on = state_.goes_on.data(),
            .token = state_.token.data(),
            .step = state_.step.data(),
            .offset = state_.offset.data(),
            .segment = state_.segment.data(),
            .position = state_.position.data(),
            .self_view = state_.self_view.data(),
            .cross_view = state_.cross_view.data(),
            .exit_rule = state_.exit_rule.data(),
            .constraint = state_.constraint.data(),
            .markers = state_.markers.data(),
            .self_tally = state_.self_tally.data(),
            .cross_tally = state_.cross_tally.data(),
            .fills = state_.fills.data(),
            .aligned = state_.aligned.data(),
            .records = {state_.records.data(), state_.recorded.data(), kGroupSteps,
                        static_cast<int32_t>(script_of_.size()), kMaxBeam * 2},
            .record_step = state_.record_step.data()};
  }

  static int32_t Sum(const std::vector<int32_t>& numbers) {
    int32_t sum = 0;
    for (const int32_t number : numbers) sum += number;
    return sum;
  }

  SparseRows running_;
  int32_t width_ = 1;
  std::vector<Script> scripts_;
  std::vector<std::vector<ScriptPiece>> pieces_;
  std::vector<std::vector<int32_t>> prefixes_;
  std::vector<const Script*> script_of_;
  std::vector<Candidate> candidates_;
  std::vector<int32_t> exit_at_;
  std::vector<ExitRule> asked_;
  State state_;
};
SALIENT_TEST_ALL_BACKENDS(AdvanceOpsTest);

TEST_P(AdvanceOpsTest, EveryStepIsThePlainOnes) {
  const std::vector<std::vector<int32_t>> batches = {
      {1}, {2}, {kMaxBeam}, {1, 1, 1, 1, 1}, {4, 1, 2, 3, 1, 5, kMaxBeam, 2, 1, 4}, {2, 2, 3, 3, 7, 1, 12, 9, 1, 1, 6}};
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    MakeChunks(batches[batch]);
    int32_t most_rows = 0, steps = 0;
    for (; state_.count[0] > 0; ++steps) {
      ASSERT_LT(steps, kSteps) << "somebody never ends";
      DrawCandidates();
      const State before = state_;
      Advance(Args());
      const std::vector<int64_t> expected = state_.Flat();
      state_.Restore(before);
      backend().Advance(Args());
      ASSERT_EQ(state_.Flat(), expected) << "batch " << batch << ", step " << steps;
      most_rows = std::max(most_rows, state_.count[0]);
    }
    EXPECT_GT(steps, 1);
    const auto chunks = static_cast<int32_t>(batches[batch].size());
    EXPECT_GE(most_rows, Sum(batches[batch]) / 2 + chunks / 2) << "beams hardly ever grew";
  }
}

// Of a beam that could have four hypotheses the first has one token that is possible, which makes the only next one.
TEST_P(AdvanceOpsTest, WhatHasNoProbabilityIsNotChosen) {
  MakeChunks({4});
  prefixes_[0].clear();
  scripts_[0].prefix_count = 0;
  const int32_t row = state_.rows[0];
  for (const float none : {-kInfinity, kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    const State before = state_;
    for (int32_t c = 0; c < width_; ++c) candidates_[row * width_ + c] = {5 + c, c == 0 ? -0.5f : none};
    backend().Advance(Args());
    ASSERT_EQ(state_.count[0], 1) << none;
    EXPECT_EQ(state_.rows[0], row);
    EXPECT_EQ(state_.token[row], 5);
    EXPECT_EQ(state_.beams[0].total[0], -0.5);
    state_.Restore(before);
  }
}

TEST_P(AdvanceOpsTest, AGroupBeginsLikeThePlainOne) {
  constexpr int32_t kFields = 3;
  for (const int32_t n : {1, 7, 40, 300}) {
    const SparseRows rows(n);
    const size_t end = rows.end() + 1;
    // A block of three arrays, of 4, 12 and 40 bytes a row; the host always has its say about the last.
    const std::vector<RowField> fields = {
        {0, 4, false}, {static_cast<uint32_t>(4 * end), 12, false}, {static_cast<uint32_t>(16 * end), 40, true}};
    std::vector<int32_t> given(14 * end), kept(14 * end);
    std::vector<Beginning> begins(end);
    std::vector<uint8_t> goes_on(end);
    for (size_t i = 0; i < given.size(); ++i) given[i] = 2 * i, kept[i] = 2 * i + 1;
    for (Beginning& begin : begins) begin = static_cast<Beginning>(Uniform(0, 2));
    for (uint8_t& one : goes_on) one = static_cast<uint8_t>(Uniform(0, 1));

    // Runs it on copies of what it changes; returns all of that in one.
    const auto run = [&](auto&& merge_new_rows) {
      std::vector<int32_t> block = kept, fills(end, 5), aligned(end, 5);
      std::vector<int32_t> taking_part(rows.capacity(), -1), count(1, -1), step(1, -1);
      std::vector<uint8_t> going = goes_on;
      std::vector<AttentionTally> self(end, {1, 2, 3, 4}), cross(end, {5, 6, 7, 8});
      merge_new_rows(MergeNewRowsArgs{.rows = rows.rows(),
                                      .begins = begins.data(),
                                      .fields = fields.data(),
                                      .field_count = kFields,
                                      .given = reinterpret_cast<const std::byte*>(given.data()),
                                      .kept = reinterpret_cast<std::byte*>(block.data()),
                                      .goes_on = going.data(),
                                      .self_tally = self.data(),
                                      .cross_tally = cross.data(),
                                      .fills = fills.data(),
                                      .aligned = aligned.data(),
                                      .taking_part = taking_part.data(),
                                      .count = count.data(),
                                      .first_record = 4,
                                      .record_step = step.data()});
      std::vector<int32_t> everything = block;
      for (const auto* one : {&fills, &aligned, &taking_part, &count, &step}) {
        everything.insert(everything.end(), one->begin(), one->end());
      }
      everything.insert(everything.end(), going.begin(), going.end());
      for (const auto* tallies : {&self, &cross}) {
        for (const AttentionTally& tally : *tallies) everything.push_back(static_cast<int32_t>(tally.scored));
      }
      return everything;
    };
    const std::vector<int32_t> plain = run([](const MergeNewRowsArgs& args) { MergeNewRows(args); });
    EXPECT_EQ(run([&](const MergeNewRowsArgs& args) { backend().MergeNewRows(args); }), plain) << n << " rows";
    EXPECT_NE(plain, run([](const MergeNewRowsArgs&) {}));
  }
}

}  // namespace
}  // namespace salient
