// Sequences without a model: the test plays the decoder and says which tokens are likely.

#include "engine/decode/sequence.h"

#include <cmath>
#include <limits>
#include <random>

#include "engine/decode/demand.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/decode/small_config.h"

namespace salient {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int32_t kEnd = 3, kSeparator = 4;

class SequenceTest : public ::testing::Test {
 protected:
  SequenceTest()
      : config_(SmallConfig()),
        backend_(MakeReferenceBackend()),
        rows_(*backend_, config_, 8, 4, 2 * kMaxBeam, 0),
        self_(backend_->memory(), {.layers = 2, .width = 8}, 16),
        cross_(backend_->memory(), {.layers = 2, .width = 8}, 16) {
    for (auto& rules : options_.selection) rules.resize(1);
    options_.exit.at = options_.exit.greatest = 2;
    options_.max_length_ratio = 1.0;
  }

  // Two segments of two tokens.
  std::unique_ptr<Sequence> Make(std::vector<int32_t> prefix = {}) {
    auto sequence = std::make_unique<Sequence>(chunk_, options_, std::move(prefix), config_, *backend_, self_, cross_);
    std::vector<int32_t> assigned;
    for (int32_t row = 0; row < RowsWanted(options_); ++row) assigned.push_back(row + 2);
    sequence->AssignRows(assigned);
    return sequence;
  }

  // With up to `tokens` drafts a step, made after the first of the two layers.
  void Verify(int32_t tokens) {
    options_.draft_tokens = tokens;
    options_.draft_exit.at = options_.draft_exit.greatest = 1;
  }

  // A step in which `draft` and then `choose` say what is best of a row, by its number.
  template <typename DraftToken, typename Choose>
  void Cycle(Sequence& sequence, const DraftToken& draft, const Choose& choose) {
    std::vector<int32_t> may_take_part, taking_part;
    sequence.Prepare(rows_, may_take_part);
    while (true) {
      std::vector<int32_t> drafting;
      sequence.PrepareDraft(rows_, drafting);
      if (drafting.empty()) break;
      ASSERT_THAT(drafting, SizeIs(1));
      EXPECT_EQ(rows_.exit_rule.data()[drafting[0]].at, 1);
      EXPECT_EQ(rows_.held_at.data()[drafting[0]], 0);
      EXPECT_THAT(may_take_part, Contains(drafting[0]));
      rows_.candidates.data()[drafting[0]] = draft(drafting[0]);
      sequence.TakeDraft(rows_);
    }
    sequence.AppendRows(rows_, taking_part);
    for (const int32_t row : taking_part) {
      EXPECT_THAT(may_take_part, Contains(row));
      EXPECT_EQ(rows_.exit_rule.data()[row].at, 2);
      rows_.exit_at.data()[row] = 2;
      rows_.candidates.data()[row] = choose(row);
    }
    taking_part_ = taking_part;
    sequence.TakeStep(rows_, 1);
  }

  // The same with what is drafted and what is chosen in order.
  void Cycle(Sequence& sequence, std::vector<Candidate> drafts, std::vector<Candidate> choices) {
    size_t drafted = 0, chosen = 0;
    Cycle(
        sequence, [&](int32_t) { return drafts.at(drafted++); }, [&](int32_t) { return choices.at(chosen++); });
    EXPECT_EQ(drafted, drafts.size());
    EXPECT_EQ(chosen, choices.size());
  }

  std::vector<int32_t> Prepare(Sequence& sequence) {
    std::vector<int32_t> taking_part;
    sequence.Prepare(rows_, taking_part);
    return taking_part;
  }

  // One step in which every row's best tokens are these, best first.
  void Step(Sequence& sequence, const std::vector<std::vector<Candidate>>& best) {
    Step(sequence, best, sequence.candidates_wanted());
  }

  // A step of so many candidates a row, as it is beside a wider beam.
  void Step(Sequence& sequence, const std::vector<std::vector<Candidate>>& best, int32_t width) {
    Take(sequence, Prepare(sequence), best, width);
  }

  void Take(Sequence& sequence, const std::vector<int32_t>& taking_part,
            const std::vector<std::vector<Candidate>>& best, int32_t width) {
    ASSERT_THAT(taking_part, SizeIs(best.size()));
    for (size_t i = 0; i < taking_part.size(); ++i) {
      rows_.exit_at.data()[taking_part[i]] = 2;
      for (int32_t c = 0; c < width; ++c) {
        rows_.candidates.data()[taking_part[i] * width + c] =
            c < static_cast<int32_t>(best[i].size()) ? best[i][c] : Candidate{-1, 0};
      }
    }
    sequence.TakeStep(rows_, width);
  }

  const TokenConstraint& Constraint(int32_t row = 2) { return rows_.constraint.data()[row]; }

  static std::vector<int32_t> Tokens(const DecodedPiece& piece) {
    std::vector<int32_t> tokens;
    for (const DecodedToken& token : piece.tokens) tokens.push_back(token.token);
    return tokens;
  }

  const ModelConfig config_;
  std::unique_ptr<Backend> backend_;
  DecoderRows rows_;
  KvStore self_, cross_;
  ResolvedOptions options_;
  std::vector<int32_t> taking_part_;  // in the last Cycle
  Chunk chunk_{{10, 11, kSeparator, 12, 13, kEnd}, {{0, 2}, {1, 2}}};
};

TEST_F(SequenceTest, ProducesAsManySegmentsAsTheSource) {
  const auto sequence = Make();
  Prepare(*sequence);
  EXPECT_TRUE(Constraint().allow_separator);
  EXPECT_FALSE(Constraint().allow_end);
  Step(*sequence, {{{7, -0.5f}}});
  EXPECT_EQ(sequence->settled_pieces(), 0);
  Step(*sequence, {{{kSeparator, -0.25f}}});
  EXPECT_EQ(sequence->settled_pieces(), 1);
  Prepare(*sequence);
  EXPECT_FALSE(Constraint().allow_separator);
  EXPECT_TRUE(Constraint().allow_end);
  Step(*sequence, {{{8, -1.0f}}});
  Step(*sequence, {{{kEnd, -2.0f}}});
  ASSERT_TRUE(sequence->done());
  const auto results = sequence->Results();
  ASSERT_THAT(results, SizeIs(1));
  ASSERT_THAT(results[0], SizeIs(2));
  EXPECT_THAT(Tokens(results[0][0]), ElementsAre(7));
  EXPECT_THAT(Tokens(results[0][1]), ElementsAre(8));
  EXPECT_DOUBLE_EQ(results[0][0].score, -0.75);
  EXPECT_DOUBLE_EQ(results[0][1].score, -3.0);
}

TEST_F(SequenceTest, TellsTheDecoderWhereItStands) {
  const auto sequence = Make();
  Prepare(*sequence);
  EXPECT_EQ(rows_.token.data()[2], config_.tokens.begin);
  EXPECT_EQ(rows_.self_view.data()[2].length, 1);
  EXPECT_EQ(rows_.cross_view.data()[2].length, 6);
  Step(*sequence, {{{7, 0}}});
  Step(*sequence, {{{kSeparator, 0}}});
  Step(*sequence, {{{8, 0}}});
  Prepare(*sequence);
  EXPECT_EQ(rows_.token.data()[2], 8);
  EXPECT_EQ(rows_.step.data()[2], 3);
  EXPECT_EQ(rows_.segment.data()[2], 1);
  EXPECT_EQ(rows_.offset.data()[2], 1);  // the separator opened the segment at 0
  EXPECT_EQ(rows_.self_view.data()[2].length, 4);
  EXPECT_EQ(rows_.cross_view.data()[2].centre, 4);  // second token of the second source segment
}

TEST_F(SequenceTest, ClosesASegmentThatGrowsBeyondItsBound) {
  const auto sequence = Make();
  for (int32_t i = 0; i < 2 + kSegmentSlack; ++i) Step(*sequence, {{{7, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(Constraint().forced, kSeparator);
  Step(*sequence, {{{kSeparator, -9.0f}}});
  for (int32_t i = 0; i < 2 + kSegmentSlack; ++i) Step(*sequence, {{{8, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(Constraint().forced, kEnd);
  Step(*sequence, {{{kEnd, -9.0f}}});
  ASSERT_TRUE(sequence->done());
  EXPECT_EQ(sequence->tokens_so_far(), MaxSteps(chunk_, options_));
  EXPECT_TRUE(sequence->Results()[0][0].length_limited);
  EXPECT_TRUE(sequence->Results()[0][1].length_limited);
}

TEST_F(SequenceTest, ForcesThePrefixFirst) {
  const auto sequence = Make({15, 16});
  Prepare(*sequence);
  EXPECT_EQ(Constraint().forced, 15);
  Step(*sequence, {{{15, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(Constraint().forced, 16);
  Step(*sequence, {{{16, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(Constraint().forced, -1);
}

TEST_F(SequenceTest, ABeamKeepsTheBestOfThePool) {
  options_.beam = options_.n_best = 2;
  const auto sequence = Make();
  Step(*sequence, {{{5, -1.0f}, {6, -2.0f}, {7, -3.0f}, {8, -4.0f}}});
  // From 5 (-1): 9 makes -4, 10 makes -6. From 6 (-2): 11 makes -2.5, 12 makes -5.
  Step(*sequence, {{{9, -3.0f}, {10, -5.0f}}, {{11, -0.5f}, {12, -3.0f}}});
  ASSERT_THAT(Prepare(*sequence), ElementsAre(2, 3));
  EXPECT_EQ(rows_.token.data()[2], 11);
  EXPECT_EQ(rows_.token.data()[3], 9);
  // Keys never move: a hypothesis lists the positions of its own history (step * beam + hypothesis).
  const KeyView& best = rows_.self_view.data()[2];
  EXPECT_THAT(std::vector<int32_t>(best.candidates, best.candidates + best.length), ElementsAre(0, 3, 4));
  const KeyView& second = rows_.self_view.data()[3];
  EXPECT_THAT(std::vector<int32_t>(second.candidates, second.candidates + second.length), ElementsAre(0, 2, 5));
}

TEST_F(SequenceTest, ABeamFinishesOnlyWhatRanksWithinIt) {
  options_.beam = options_.n_best = 2;
  options_.length_penalty = 1.0;
  chunk_ = {{10, 11, kEnd}, {{0, 2}}};
  const auto sequence = Make();
  Step(*sequence, {{{5, -1.0f}, {6, -1.5f}, {kEnd, -2.0f}}});  // the end ranks third: dropped
  Step(*sequence, {{{kEnd, -0.5f}, {7, -1.0f}}, {{8, -3.0f}, {kEnd, -4.0f}}});
  ASSERT_FALSE(sequence->done());
  Step(*sequence, {{{kEnd, -1.0f}, {9, -2.0f}}, {{kEnd, -0.5f}}});
  ASSERT_TRUE(sequence->done());
  const auto results = sequence->Results();
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_THAT(Tokens(results[0][0]), ElementsAre(5));     // -1.5 / 2 tokens
  EXPECT_THAT(Tokens(results[1][0]), ElementsAre(5, 7));  // -3 / 3 tokens
}

TEST_F(SequenceTest, NoSequenceIsWrittenTwiceInASegment) {
  options_.beam = options_.n_best = 2;
  options_.no_repeat = 2;
  const auto sequence = Make();
  Step(*sequence, {{{5, -1.0f}, {6, -20.0f}}});
  Step(*sequence, {{{6, -1.0f}, {7, -20.0f}}, {{7, -1.0f}, {8, -2.0f}}});
  Step(*sequence, {{{5, -1.0f}, {7, -20.0f}}, {{9, -1.0f}}});
  // 5 6 5 may not go on with 6 a second time, though that is the likeliest; the other one has not said 5 6.
  Step(*sequence, {{{6, -0.1f}, {8, -1.0f}}, {{6, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(rows_.token.data()[2], 8);
}

TEST_F(SequenceTest, AnotherSegmentMaySayTheSame) {
  options_.beam = options_.n_best = 2;
  options_.no_repeat = 2;
  const auto sequence = Make();
  Step(*sequence, {{{5, -1.0f}, {7, -50.0f}}});
  Step(*sequence, {{{6, -1.0f}}, {{9, -1.0f}}});
  Step(*sequence, {{{kSeparator, -1.0f}}, {{9, -1.0f}}});
  Step(*sequence, {{{5, -1.0f}}, {{8, -1.0f}}});
  Step(*sequence, {{{6, -0.1f}, {8, -1.0f}}, {{7, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(rows_.token.data()[2], 6);
}

TEST_F(SequenceTest, WhereThereIsNoOtherChoiceASequenceIsRepeated) {
  options_.beam = options_.n_best = 2;
  options_.no_repeat = 2;
  const auto sequence = Make();
  Step(*sequence, {{{5, -1.0f}}});
  for (const int32_t token : {6, 5, 6}) Step(*sequence, {{{token, -1.0f}}});
  Prepare(*sequence);
  EXPECT_EQ(rows_.token.data()[2], 6);
  EXPECT_FALSE(sequence->failed());
}

TEST_F(SequenceTest, LengthPenaltyDecidesBetweenLengths) {
  options_.beam = options_.n_best = 2;
  options_.length_penalty = 0;
  chunk_ = {{10, 11, kEnd}, {{0, 2}}};
  const auto sequence = Make();
  Step(*sequence, {{{kEnd, -1.0f}, {5, -1.1f}}});
  Step(*sequence, {{{kEnd, -0.2f}, {6, -3.0f}}});
  ASSERT_TRUE(sequence->done());
  EXPECT_THAT(Tokens(sequence->Results()[0][0]), ElementsAre());  // -1 against -1.3 with no reward for length
}

TEST_F(SequenceTest, AcceptedDraftsAreKeptWithOneTokenMore) {
  Verify(3);
  chunk_ = {{10, 11, kEnd}, {{0, 2}}};
  const auto sequence = Make();
  Cycle(*sequence, {{7, -0.1f}, {8, -0.2f}, {9, -0.3f}}, {{7, -1.0f}, {8, -2.0f}, {9, -4.0f}, {10, -8.0f}});
  EXPECT_EQ(sequence->tokens_so_far(), 4);
  EXPECT_EQ(sequence->meter().Report().draft_acceptance, 1.0);
  Cycle(*sequence, {{kEnd, -0.1f}}, {{kEnd, -16.0f}});
  ASSERT_TRUE(sequence->done());
  const DecodedPiece piece = sequence->Results()[0][0];
  EXPECT_THAT(Tokens(piece), ElementsAre(7, 8, 9, 10));
  EXPECT_DOUBLE_EQ(piece.score, -31.0) << "full depth's probabilities, not the drafts'";
  EXPECT_THAT(sequence->meter().Report().exit_histogram, ElementsAre(0, 5));
}

TEST_F(SequenceTest, ARejectedDraftIsReplacedAndWhatFollowsItForgotten) {
  Verify(3);
  const auto sequence = Make();
  Cycle(*sequence, {{7, -0.1f}, {8, -0.1f}, {9, -0.1f}}, {{7, -1.0f}, {11, -1.0f}, {12, -1.0f}, {13, -1.0f}});
  EXPECT_EQ(sequence->tokens_so_far(), 2);
  EXPECT_DOUBLE_EQ(sequence->meter().Report().draft_acceptance, 1.0 / 3);
  Cycle(*sequence, {{7, -0.1f}, {8, -0.1f}, {9, -0.1f}}, {{5, -1.0f}, {8, -1.0f}, {9, -1.0f}, {9, -1.0f}});
  EXPECT_EQ(sequence->tokens_so_far(), 3) << "none was right";
  Cycle(
      *sequence,
      [&](int32_t row) {
        EXPECT_EQ(rows_.token.data()[row], row == 2 ? 5 : 6);
        EXPECT_EQ(rows_.position.data()[row], 3 + row - 2) << "where the wrong drafts were";
        return Candidate{6, -0.1f};
      },
      [](int32_t) {
        return Candidate{6, -1.0f};
      });
  EXPECT_EQ(sequence->tokens_so_far(), 7);
  EXPECT_DOUBLE_EQ(sequence->meter().Report().draft_acceptance, 4.0 / 9);
}

TEST_F(SequenceTest, AnUnlikelyDraftIsTheLast) {
  Verify(4);
  const auto sequence = Make();
  Cycle(*sequence, {{7, -0.1f}, {8, -3.0f}}, {{7, -1.0f}, {8, -1.0f}, {9, -1.0f}});
  EXPECT_EQ(sequence->tokens_so_far(), 3) << "it may be right all the same";
}

TEST_F(SequenceTest, RowsOfDraftsStandWhereTheirTokensWould) {
  Verify(3);
  const auto sequence = Make();
  Cycle(*sequence, {{7, -0.1f}, {kSeparator, -0.1f}, {8, -0.1f}},
        {{7, -1.0f}, {kSeparator, -1.0f}, {8, -1.0f}, {9, -1.0f}});
  ASSERT_THAT(taking_part_, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(rows_.held_at.data()[4], 1);
  EXPECT_THAT(rows_.held_at.data()[5], 0) << "the last one begins in the step";
  for (int32_t j = 0; j < 4; ++j) {
    EXPECT_EQ(rows_.step.data()[2 + j], j);
    EXPECT_EQ(rows_.self_view.data()[2 + j].length, j + 1);
    EXPECT_EQ(rows_.segment.data()[2 + j], j < 2 ? 0 : 1);
    EXPECT_EQ(Constraint(2 + j).allow_separator, j < 2);
    EXPECT_EQ(Constraint(2 + j).allow_end, j >= 2);
  }
  EXPECT_EQ(rows_.token.data()[4], kSeparator);
  EXPECT_EQ(rows_.offset.data()[4], 0);
  EXPECT_EQ(rows_.cross_view.data()[4].centre, 3);
  EXPECT_EQ(sequence->settled_pieces(), 1);
  EXPECT_THAT(Tokens(sequence->SettledPieces(0)[0]), ElementsAre(7));
}

// The same chunk beside a wider beam: kernels then give more candidates, which the narrow one may not look at.
TEST_F(SequenceTest, AWiderBeamInTheSameStepChangesNothing) {
  options_.beam = options_.n_best = 2;
  options_.no_repeat = 2;
  for (const int32_t width : {4, 8}) {
    const auto sequence = Make();
    Step(*sequence, {{{5, -1.0f}, {6, -20.0f}}}, width);
    Step(*sequence, {{{6, -1.0f}, {9, -2.0f}}, {{7, -30.0f}, {8, -31.0f}}}, width);
    Step(*sequence, {{{5, -1.0f}}, {{9, -20.0f}}}, width);
    // Of the four best, three were the end, the separator and marker 12, which stands in for both: so 7 and 8 are there
    // only beside the wider beam. 6 would write "5 6" a second time.
    const std::vector<int32_t> taking_part = Prepare(*sequence);
    rows_.constraint.data()[2].stand_in = 12;
    Take(*sequence, taking_part, {{{12, -1.0f}, {6, -2.0f}, {7, -3.0f}, {8, -4.0f}}, {{9, -50.0f}}}, width);
    Prepare(*sequence);
    EXPECT_EQ(rows_.token.data()[2], 12);
    EXPECT_EQ(rows_.token.data()[3], 9);
  }
}

// What kernels leave where logits are no numbers: no candidate, or one whose probability is none.
TEST_F(SequenceTest, ScoresThatAreNoNumbersEndTheSearch) {
  for (const int32_t beam : {1, 3}) {
    options_.beam = beam;
    for (const Candidate& bad :
         {Candidate{-1, 0}, Candidate{7, std::nanf("")}, Candidate{7, -std::numeric_limits<float>::infinity()}}) {
      const auto sequence = Make();
      Step(*sequence, {{bad}});
      EXPECT_TRUE(sequence->failed());
      EXPECT_TRUE(sequence->done());
      EXPECT_EQ(sequence->settled_pieces(), 0);
      EXPECT_TRUE(sequence->SettledPieces(0).empty());
      EXPECT_TRUE(sequence->Results().empty());
    }
  }
}

// Full depth decides, and here it has numbers.
TEST_F(SequenceTest, ADraftWithoutNumbersIsRejected) {
  Verify(3);
  const auto sequence = Make();
  Cycle(*sequence, {{-1, -std::numeric_limits<float>::infinity()}}, {{7, -1.0f}, {8, -1.0f}});
  EXPECT_EQ(sequence->tokens_so_far(), 1);
  EXPECT_FALSE(sequence->failed());
  Cycle(*sequence, {{-1, -std::numeric_limits<float>::infinity()}}, {{-1, 0}, {8, -1.0f}});
  EXPECT_TRUE(sequence->failed());
}

TEST_F(SequenceTest, NothingIsDraftedAfterTheEnd) {
  Verify(4);
  chunk_ = {{10, kEnd}, {{0, 1}}};
  const auto sequence = Make();
  Cycle(*sequence, {{7, -0.1f}, {kEnd, -0.1f}}, {{7, -1.0f}, {8, -1.0f}});  // and full depth goes on
  EXPECT_FALSE(sequence->done());
  EXPECT_EQ(sequence->tokens_so_far(), 2);
  Cycle(*sequence, {{9, -0.1f}, {5, -0.1f}, {5, -0.1f}, {5, -0.1f}},
        {{9, -1.0f}, {kEnd, -1.0f}, {5, -1.0f}, {5, -1.0f}, {5, -1.0f}});
  ASSERT_TRUE(sequence->done());
  EXPECT_THAT(Tokens(sequence->Results()[0][0]), ElementsAre(7, 8, 9));
}

// A model that chooses by what it has read, and drafts that are often wrong: the same with drafts and without, also
// where a segment ends by its bound, or the room for keys does.
TEST_F(SequenceTest, DraftsNeverChangeATranslation) {
  int64_t right = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<std::vector<std::vector<int32_t>>> translations;
    std::vector<double> scores;
    chunk_ = seed % 5 == 0 ? Chunk{{10, kEnd}, {{0, 1}}} : Chunk{{10, 11, kSeparator, 12, 13, kEnd}, {{0, 2}, {1, 2}}};
    for (const int32_t tokens : {0, 1, 4, 5}) {
      Verify(tokens);
      const auto sequence = Make(seed % 3 == 0 ? std::vector<int32_t>{15, 16, 17} : std::vector<int32_t>{});
      const int32_t reserved = SelfPages(chunk_, options_), before = self_.share().taken();
      const auto choose = [&](int32_t row) {
        if (Constraint(row).forced >= 0) return Candidate{Constraint(row).forced, -9.0f};
        std::mt19937 random(seed * 1000003 + rows_.token.data()[row] * 8191 + rows_.step.data()[row] * 131 +
                            rows_.segment.data()[row]);
        const bool closes = random() % 16 == 0 && seed % 4 > 0;
        const int32_t close = Constraint(row).allow_end ? kEnd : kSeparator;
        const auto token = static_cast<int32_t>(5 + random() % 15);
        return Candidate{closes ? close : token, -static_cast<float>(random() % 64) / 16};
      };
      const auto draft = [&](int32_t row) {
        Candidate candidate = choose(row);
        candidate.log_probability = -0.1f;
        if (Constraint(row).forced >= 0) return candidate;
        if ((rows_.step.data()[row] + seed) % 4 == 0) candidate.token = Constraint(row).allow_end ? kEnd : 6;
        return candidate;
      };
      while (!sequence->done()) {
        Cycle(*sequence, draft, choose);
        ASSERT_LE(self_.share().taken() - before, reserved);
        ASSERT_LE(sequence->tokens_so_far(), MaxSteps(chunk_, options_));
      }
      translations.emplace_back();
      double score = 0;
      const auto results = sequence->Results();
      for (const DecodedPiece& piece : results[0]) {
        translations.back().push_back(Tokens(piece));
        translations.back().back().push_back(piece.length_limited);
        score += piece.score;
      }
      scores.push_back(score);
      right += sequence->meter().Report().draft_acceptance > 0;
    }
    EXPECT_THAT(translations, Each(translations[0])) << "seed " << seed;
    EXPECT_THAT(scores, Each(scores[0])) << "seed " << seed;
  }
  EXPECT_GT(right, 100);
}

TEST_F(SequenceTest, ReturnsItsPages) {
  {
    const auto sequence = Make();
    Step(*sequence, {{{7, 0}}});
    EXPECT_GT(self_.share().taken(), 0);
    EXPECT_GT(cross_.share().taken(), 0);
    EXPECT_GT(sequence->kv_bytes(), 0);
  }
  EXPECT_EQ(self_.share().taken(), 0);
  EXPECT_EQ(cross_.share().taken(), 0);
}

TEST_F(SequenceTest, NeverNeedsMoreThanItReserves) {
  options_.beam = 3;
  const auto sequence = Make();
  const int32_t reserved = SelfPages(chunk_, options_), before = self_.share().taken();
  for (int step = 0; step < 1000 && !sequence->done(); ++step) {
    const std::vector<int32_t> taking_part = Prepare(*sequence);
    std::vector<std::vector<Candidate>> best;
    for (const int32_t row : taking_part) {
      const int32_t forced = Constraint(row).forced;
      best.push_back(forced >= 0 ? std::vector<Candidate>{{forced, -1.0f}}
                                 : std::vector<Candidate>{{7, -1.0f}, {8, -1.1f}, {9, -1.2f}});
    }
    Step(*sequence, best);
    EXPECT_LE(self_.share().taken() - before, reserved);
  }
  EXPECT_TRUE(sequence->done());
}

}  // namespace
}  // namespace salient
