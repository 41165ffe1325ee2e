// Steps made ahead (engine/search/advance.h) against the sequence that knows the rules: where a device would stand
// after each step, and what the sequence makes of the records afterwards.

#include "engine/search/advance.h"

#include <limits>
#include <random>
#include <vector>

#include "engine/decode/sequence.h"
#include "engine/search/constraint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decode/small_config.h"

namespace salient {
namespace {

using ::testing::ElementsAreArray;

constexpr int32_t kRows = 12, kFirstRow = 3, kWidth = 2 * kMaxBeam, kMostSteps = 64;

class AdvanceTest : public ::testing::Test {
 protected:
  // What one of the two, the sequence step by step and the device, has to itself.
  struct Side {
    explicit Side(AdvanceTest& test)
        : rows(*test.backend_, test.config_, kRows, 4, kWidth, 0),
          self(test.backend_->memory(), {.layers = 2, .width = 8}, 32),
          cross(test.backend_->memory(), {.layers = 2, .width = 8}, 4),
          sequence(test.chunk_, test.options_, test.prefix_, test.config_, *test.backend_, self, cross) {
      std::vector<int32_t> assigned;
      for (int32_t i = 0; i < test.options_.beam; ++i) assigned.push_back(kFirstRow + 2 * i);
      sequence.AssignRows(assigned);
    }
    DecoderRows rows;
    KvStore self, cross;
    Sequence sequence;
  };

  AdvanceTest() : config_(WithMarkers(SmallConfig())), backend_(MakeReferenceBackend()) {
    for (auto& rules : options_.selection) rules.resize(1);
    options_.exit = {DepthPolicy::kMultinomial, 0, 1, 2};
    options_.max_length_ratio = 1.0;
  }

  static ModelConfig WithMarkers(ModelConfig config) {
    config.tokens.first_marker = 12;
    config.tokens.markers = 4;
    return config;
  }

  // What a model would find for a row: it follows from where the row stands and which keys it reads. Few different
  // probabilities, so that many choices are equally good; and some tokens that have none.
  void Decode(DecoderRows& rows, int32_t row, uint32_t seed) const {
    const KeyView& view = rows.self_view.data()[row];
    uint32_t hash = seed * 7919 + rows.token.data()[row] * 31 + rows.segment.data()[row];
    for (int32_t i = 0; i < view.length; ++i) hash = hash * 131 + view.Position(i);
    std::mt19937 random(hash);
    const TokenConstraint& constraint = rows.constraint.data()[row];
    std::vector<int32_t> tokens;
    for (int32_t token = 5; token < config_.vocab_size; ++token) {
      if (IsAllowed(constraint, config_.tokens, token)) tokens.push_back(token);
    }
    if (constraint.allow_separator && random() % 3 == 0) tokens.push_back(config_.tokens.separator);
    if (constraint.allow_end && random() % 3 == 0) tokens.push_back(config_.tokens.end);
    std::shuffle(tokens.begin(), tokens.end(), random);
    if (constraint.forced >= 0) tokens = {constraint.forced};
    tokens.resize(std::min<size_t>(tokens.size(), 1 + random() % kWidth));
    const auto possible = static_cast<int32_t>(random() % 4 == 0 ? 1 + random() % 3 : kWidth);
    float log_probability = -1;
    for (int32_t c = 0; c < kWidth; ++c) {
      log_probability -= 0.25f * static_cast<float>(random() % 3);
      if (c >= possible) log_probability = -std::numeric_limits<float>::infinity();
      rows.candidates.data()[row * kWidth + c] =
          c < static_cast<int32_t>(tokens.size()) ? Candidate{tokens[c], log_probability} : Candidate{-1, 0};
    }
    rows.exit_at.data()[row] = 1 + static_cast<int32_t>(random() % 2);
    rows.fills.data()[row] = static_cast<int32_t>(random() % 3);
    rows.self_tally.data()[row].attended = random() % 100;
    rows.exit_rule.data()[row] = {DepthPolicy::kFixed, 1, 1, 2};  // as ResolveExits leaves it
  }

  static std::vector<int32_t> Positions(const KeyView& view) {
    std::vector<int32_t> positions;
    for (int32_t i = 0; i < view.length; ++i) positions.push_back(view.Position(i));
    return positions;
  }

  static void ExpectSameRow(const DecoderRows& got, const DecoderRows& expected, int32_t row) {
    for (const auto member : {&DecoderRows::token, &DecoderRows::step, &DecoderRows::offset, &DecoderRows::segment,
                              &DecoderRows::position, &DecoderRows::fills}) {
      EXPECT_EQ((got.*member).data()[row], (expected.*member).data()[row]);
    }
    const TokenConstraint &a = got.constraint.data()[row], &b = expected.constraint.data()[row];
    EXPECT_EQ(a.forced, b.forced);
    EXPECT_EQ(a.allow_separator, b.allow_separator);
    EXPECT_EQ(a.allow_end, b.allow_end);
    EXPECT_EQ(a.markers, b.markers);
    EXPECT_EQ(a.stand_in, b.stand_in);
    const MarkerState &c = got.markers.data()[row], &d = expected.markers.data()[row];
    EXPECT_EQ(c.missing, d.missing);
    EXPECT_EQ(c.depth, d.depth);
    EXPECT_EQ(c.open, d.open);
    EXPECT_EQ(got.exit_rule.data()[row].policy, expected.exit_rule.data()[row].policy);
    EXPECT_EQ(got.self_view.data()[row].centre, expected.self_view.data()[row].centre);
    EXPECT_EQ(got.cross_view.data()[row].centre, expected.cross_view.data()[row].centre);
    EXPECT_EQ(got.cross_view.data()[row].length, expected.cross_view.data()[row].length);
    EXPECT_THAT(Positions(got.self_view.data()[row]), ElementsAreArray(Positions(expected.self_view.data()[row])));
  }

  static void ExpectSameResults(const Sequence& got, const Sequence& expected) {
    const auto a = got.Results(), b = expected.Results();
    ASSERT_EQ(a.size(), b.size());
    for (size_t r = 0; r < a.size(); ++r) {
      ASSERT_EQ(a[r].size(), b[r].size());
      for (size_t p = 0; p < a[r].size(); ++p) {
        EXPECT_EQ(a[r][p].score, b[r][p].score);
        EXPECT_EQ(a[r][p].length_limited, b[r][p].length_limited);
        ASSERT_EQ(a[r][p].tokens.size(), b[r][p].tokens.size());
        for (size_t t = 0; t < a[r][p].tokens.size(); ++t) {
          EXPECT_EQ(a[r][p].tokens[t].token, b[r][p].tokens[t].token);
          EXPECT_EQ(a[r][p].tokens[t].exit_at, b[r][p].tokens[t].exit_at);
        }
      }
    }
  }

  const ModelConfig config_;
  const std::unique_ptr<Backend> backend_;
  ResolvedOptions options_;
  Chunk chunk_;
  std::vector<int32_t> prefix_;
};

// `first` steps by the sequence, then all others ahead, where the sequence learns of them at the end.
TEST_F(AdvanceTest, StepsMadeAheadAreTheSequencesOwn) {
  int32_t grew = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    options_.beam = options_.n_best = 1 + static_cast<int32_t>(seed % 5);
    chunk_ = seed % 3 == 0 ? Chunk{{10, 11, 12, 3}, {{0, 3}}} : Chunk{{10, 11, 4, 12, 13, 3}, {{0, 2}, {1, 2}}};
    if (seed % 2 == 0) NoteMarkers({12, 14, 15, 13}, config_.tokens, &chunk_.pieces.back());
    prefix_ = seed % 4 == 0 ? std::vector<int32_t>{16, 17, 18} : std::vector<int32_t>{};
    Side host(*this), device(*this);
    const uint32_t first = seed % 7 == 6 ? 5 : 0;
    std::vector<int32_t> rows;
    for (uint32_t step = 0; step < first; ++step) {
      for (Side* side : {&host, &device}) {
        rows.clear();
        side->sequence.Prepare(side->rows, rows);
        for (const int32_t row : rows) Decode(side->rows, row, seed);
        side->sequence.TakeStep(side->rows, kWidth);
      }
      ASSERT_EQ(host.sequence.done(), device.sequence.done());
      if (host.sequence.done()) break;
    }
    if (host.sequence.done()) continue;

    std::vector<int32_t> scheduled, going;
    device.sequence.PrepareAhead(device.rows, scheduled, kMostSteps);
    ASSERT_EQ(scheduled, device.sequence.assigned_rows());
    std::vector<uint8_t> goes_on(kRows);
    for (const int32_t row : scheduled) {
      goes_on[row] = device.rows.begins.data()[row] == Beginning::kNow;
      if (goes_on[row] != 0) going.push_back(row);
      device.rows.asked_exit_rule.data()[row] = device.rows.exit_rule.data()[row];
    }
    auto count = static_cast<int32_t>(going.size()), step = 0;
    going.resize(scheduled.size());
    std::vector<StepRecord> records(kMostSteps * kRows);
    std::vector<Candidate> candidates(kMostSteps * kRows * kWidth);
    const AdvanceArgs args{.scheduled = {scheduled.data(), nullptr, static_cast<int32_t>(scheduled.size())},
                           .rows = going.data(),
                           .count = &count,
                           .width = kWidth,
                           .scripts = device.rows.script.data(),
                           .special = config_.tokens,
                           .candidates = device.rows.candidates.data(),
                           .exit_at = device.rows.exit_at.data(),
                           .asked = device.rows.asked_exit_rule.data(),
                           .goes_on = goes_on.data(),
                           .token = device.rows.token.data(),
                           .step = device.rows.step.data(),
                           .offset = device.rows.offset.data(),
                           .segment = device.rows.segment.data(),
                           .position = device.rows.position.data(),
                           .self_view = device.rows.self_view.data(),
                           .cross_view = device.rows.cross_view.data(),
                           .exit_rule = device.rows.exit_rule.data(),
                           .constraint = device.rows.constraint.data(),
                           .markers = device.rows.markers.data(),
                           .self_tally = device.rows.self_tally.data(),
                           .cross_tally = device.rows.cross_tally.data(),
                           .fills = device.rows.fills.data(),
                           .aligned = device.rows.aligned.data(),
                           .records = {records.data(), candidates.data(), kMostSteps, kRows, kWidth},
                           .record_step = &step};
    while (!host.sequence.done()) {
      rows.clear();
      host.sequence.Prepare(host.rows, rows);
      ASSERT_THAT(std::vector<int32_t>(going.begin(), going.begin() + count), ElementsAreArray(rows))
          << "seed " << seed;
      for (const int32_t row : rows) {
        ExpectSameRow(device.rows, host.rows, row);
        Decode(host.rows, row, seed);
        Decode(device.rows, row, seed);
      }
      grew += rows.size() > 1;
      host.sequence.TakeStep(host.rows, kWidth);
      Advance(args);
    }
    EXPECT_EQ(count, 0) << "the sequence is done, the device goes on, seed " << seed;

    for (int32_t s = 0; s < step; ++s) {
      ASSERT_FALSE(device.sequence.done());
      for (const int32_t row : scheduled) {
        const StepRecord& record = args.records.Of(s, row);
        std::copy_n(args.records.CandidatesOf(s, row, kWidth), kWidth, device.rows.candidates.data() + row * kWidth);
        device.rows.exit_at.data()[row] = record.exit_at;
        device.rows.fills.data()[row] = record.fills;
        device.rows.self_tally.data()[row] = record.self;
        device.rows.cross_tally.data()[row] = record.cross;
      }
      device.sequence.TakeStep(device.rows, kWidth);
    }
    ASSERT_TRUE(device.sequence.done());
    ExpectSameResults(device.sequence, host.sequence);
    EXPECT_EQ(device.sequence.meter().Report().decoder_flops, host.sequence.meter().Report().decoder_flops);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(grew, 1000);
}

}  // namespace
}  // namespace salient
