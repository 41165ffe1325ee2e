// The output side of a step on every backend: candidates and top probabilities, over the vocabulary and over lists.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tests/backend/backend_fixture.h"

namespace salient {
namespace {

constexpr SpecialTokens kSpecialTokens = {.first_marker = 6, .markers = 20};

class CandidatesOpsTest : public BackendTest {
 protected:
  // Runs the reference and the backend and compares tokens exactly, probabilities closely.
  void Compare(const SparseRows& rows, const std::vector<float>& logits, int32_t vocabulary, int32_t width,
               const std::vector<TokenConstraint>& constraints) {
    const Candidate untouched = {-7, -7.0f};
    std::vector<Candidate> expected(static_cast<size_t>(rows.end() + 1) * width, untouched), got = expected;
    CandidatesArgs args = {.rows = rows.rows(),
                           .logits = {logits.data(), vocabulary},
                           .special = kSpecialTokens,
                           .constraints = constraints.data(),
                           .width = width,
                           .candidates = expected.data()};
    CandidatesReference(args);
    args.candidates = got.data();
    backend().Candidates(args);
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].token, expected[k].token) << "vocabulary " << vocabulary << ", candidate " << k;
      if (std::isinf(expected[k].log_probability)) {
        ASSERT_EQ(got[k].log_probability, expected[k].log_probability);
      } else {
        ASSERT_NEAR(got[k].log_probability, expected[k].log_probability, 5e-6f);
      }
    }
  }
};
SALIENT_TEST_ALL_BACKENDS(CandidatesOpsTest);

TEST_P(CandidatesOpsTest, CandidatesAreTheReferences) {
  for (int32_t vocabulary : {1, 5, 8, 17, 63, 64, 1000, 4099}) {
    for (int32_t width : {1, 2, 8, 32}) {
      for (int32_t n : {0, 1, 7, 40}) {
        const SparseRows rows(n);
        std::vector<TokenConstraint> constraints(rows.end() + 1);
        for (TokenConstraint& constraint : constraints) {
          constraint.allow_end = Uniform(0, 1) == 1;
          constraint.allow_separator = Uniform(0, 1) == 1;
          constraint.markers = static_cast<uint32_t>(Uniform(0, (1 << 20) - 1));
          if (Uniform(0, 2) == 0) constraint.stand_in = kSpecialTokens.first_marker + Uniform(0, 3);
          if (Uniform(0, 4) == 0) constraint.forced = Uniform(0, vocabulary - 1);
        }
        Compare(rows, Normal(static_cast<size_t>(rows.capacity()) * vocabulary, 4.0f), vocabulary, width, constraints);
      }
    }
  }
}

TEST_P(CandidatesOpsTest, TiesGoToTheLowerToken) {
  constexpr int32_t kVocabulary = 300;
  const SparseRows rows(20);
  std::vector<float> logits(rows.capacity() * kVocabulary);
  for (float& logit : logits) logit = static_cast<float>(Uniform(0, 3));
  Compare(rows, logits, kVocabulary, 32, std::vector<TokenConstraint>(rows.end() + 1));
}

TEST_P(CandidatesOpsTest, SpecialTokensAreNeverChosen) {
  std::vector<float> logits = {9, 8, 7, 6, 5, 1, 2, 0};  // pad, unknown, begin, end, separator, then three words
  TokenConstraint constraint = {.allow_separator = false, .allow_end = false};
  std::vector<Candidate> candidates(5);
  CandidatesArgs args = {.rows = Rows::First(1),
                         .logits = {logits.data(), 8},
                         .special = {},
                         .constraints = &constraint,
                         .width = 5,
                         .candidates = candidates.data()};
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 6);
  EXPECT_EQ(candidates[1].token, 5);
  EXPECT_EQ(candidates[2].token, 7);
  EXPECT_EQ(candidates[3].token, -1);
  EXPECT_EQ(candidates[4].token, -1);
  constraint.allow_end = constraint.allow_separator = true;
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 3);
  EXPECT_EQ(candidates[1].token, 4);
  constraint.forced = 1;  // then it is allowed
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 1);
  EXPECT_EQ(candidates[1].token, -1);
}

TEST_P(CandidatesOpsTest, WhatIsForcedThoughItIsSuppressedCountsAsGiven) {
  const std::vector<float> logits = {0, 0, 0, 1, 2, kSuppressed + 3, 4, 0};
  TokenConstraint constraint = {.forced = 5};
  std::vector<Candidate> candidates(8);
  const CandidatesArgs args = {.rows = Rows::First(1),
                               .logits = {logits.data(), 8},
                               .constraints = &constraint,
                               .width = 8,
                               .candidates = candidates.data()};
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 5);
  EXPECT_EQ(candidates[0].log_probability, 0);
  EXPECT_EQ(candidates[1].token, -1);
  constraint.forced = 4;
  backend().Candidates(args);
  EXPECT_LT(candidates[0].log_probability, -2);
  constraint = {};  // then it is the last choice
  backend().Candidates(args);
  EXPECT_EQ(candidates[4].token, 5);
  EXPECT_LT(candidates[4].log_probability, kSuppressed / 2);
}

TEST_P(CandidatesOpsTest, AMarkerStandsInForWhatWouldCloseASegment) {
  const SpecialTokens special{.first_marker = 5, .markers = 2};
  std::vector<float> logits = {9, 8, 7, 6, 4, 5, 0, 1};  // pad, unknown, begin, end, separator, two markers, a word
  TokenConstraint constraint = {.allow_separator = false, .allow_end = false, .markers = 3, .stand_in = 6};
  std::vector<Candidate> candidates(4);
  const CandidatesArgs args = {.rows = Rows::First(1),
                               .logits = {logits.data(), 8},
                               .special = special,
                               .constraints = &constraint,
                               .width = 4,
                               .candidates = candidates.data()};
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 6);  // for the end, and for the separator
  EXPECT_NEAR(candidates[0].log_probability - candidates[1].log_probability, 1, 1e-5);
  EXPECT_EQ(candidates[1].token, 5);
  EXPECT_EQ(candidates[2].token, 7);
  EXPECT_EQ(candidates[3].token, -1);
  logits[6] = 10;  // better by itself
  backend().Candidates(args);
  EXPECT_EQ(candidates[0].token, 6);
  EXPECT_NEAR(candidates[0].log_probability - candidates[1].log_probability, 5, 1e-5);
  constraint.allow_end = true;  // then it is the end
  backend().Candidates(args);
  EXPECT_EQ(candidates[1].token, 3);
}

TEST_P(CandidatesOpsTest, InfiniteLogitsAreOrdinaryNumbers) {
  const float none = -std::numeric_limits<float>::infinity();
  std::vector<float> logits(40, none);
  logits[20] = 1.0f;
  logits[30] = 2.0f;
  Compare(
      SparseRows(std::vector<int32_t>{0}),
      [&] {
        std::vector<float> padded = logits;
        padded.resize(3 * 40);
        return padded;
      }(),
      40, 4, std::vector<TokenConstraint>(2));
}

TEST_P(CandidatesOpsTest, TopProbabilityIsTheReferences) {
  for (int32_t vocabulary : {1, 2, 15, 64, 1000, 5003}) {
    for (int32_t n : {0, 1, 9, 60}) {
      const SparseRows rows(n);
      const std::vector<float> logits = Normal(static_cast<size_t>(rows.capacity()) * vocabulary, 5.0f);
      std::vector<float> expected(rows.end() + 1, -7.0f), got = expected;
      TopProbabilityArgs args = {
          .rows = rows.rows(), .logits = {logits.data(), vocabulary}, .probability = expected.data()};
      TopProbabilityReference(args);
      args.probability = got.data();
      backend().TopProbability(args);
      EXPECT_LE(LargestDifference(expected.data(), got.data(), got.size()), 2e-6f) << vocabulary << ", rows " << n;
    }
  }
}

// One logit that is not a number, or all: wherever it is, in vocabularies that fill vectors and in others.
TEST_P(CandidatesOpsTest, ANotANumberLeavesNoProbabilities) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const TokenConstraint constraint;
  for (int32_t vocabulary : {7, 32, 64, 100, 2048, 5000}) {
    for (int32_t place : {-1, 0, 5, vocabulary / 2, vocabulary - 1}) {
      std::vector<float> logits = place < 0 ? std::vector<float>(vocabulary, kNone) : Normal(vocabulary);
      if (place >= 0) logits[place] = kNone;
      float top = -7.0f;
      Candidate best = {-7, -7.0f};
      backend().TopProbability({.rows = Rows::First(1), .logits = {logits.data(), vocabulary}, .probability = &top});
      backend().Candidates({.rows = Rows::First(1),
                            .logits = {logits.data(), vocabulary},
                            .special = kSpecialTokens,
                            .constraints = &constraint,
                            .candidates = &best});
      EXPECT_TRUE(std::isnan(top)) << vocabulary << ", place " << place << ": " << top;
      EXPECT_FALSE(std::isfinite(best.log_probability)) << vocabulary << ", place " << place;
    }
  }
}

TEST_P(CandidatesOpsTest, TopProbabilityLowersWhatIsThere) {
  constexpr int32_t kVocabulary = 300;
  const SparseRows rows(20);
  const std::vector<float> logits = Normal(static_cast<size_t>(rows.capacity()) * kVocabulary, 5.0f);
  std::vector<float> top(rows.end() + 1, -7.0f);
  TopProbabilityArgs args = {.rows = rows.rows(), .logits = {logits.data(), kVocabulary}, .probability = top.data()};
  backend().TopProbability(args);
  std::vector<float> before = top, after;
  for (int32_t i = 0; i < 20; ++i) before[rows[i]] = i % 2 == 0 ? top[rows[i]] / 2 : 1.0f;
  after = before;
  args.probability = after.data();
  args.lower = true;
  backend().TopProbability(args);
  for (int32_t i = 0; i < 20; ++i) EXPECT_EQ(after[rows[i]], std::min(before[rows[i]], top[rows[i]])) << "row " << i;
}

TEST_P(CandidatesOpsTest, ARowDoesNotDependOnOtherRows) {
  constexpr int32_t kVocabulary = 2011, kRows = 50, kWidth = 8;
  const std::vector<float> logits = Normal(kVocabulary * kRows, 4.0f);
  const std::vector<TokenConstraint> constraints(kRows);
  std::vector<Candidate> together(kRows * kWidth), alone(kRows * kWidth);
  std::vector<float> together_top(kRows), alone_top(kRows);
  CandidatesArgs args = {.rows = Rows::First(kRows),
                         .logits = {logits.data(), kVocabulary},
                         .special = {},
                         .constraints = constraints.data(),
                         .width = kWidth,
                         .candidates = together.data()};
  TopProbabilityArgs top = {
      .rows = args.rows, .logits = {logits.data(), kVocabulary}, .probability = together_top.data()};
  backend().Candidates(args);
  backend().TopProbability(top);
  args.candidates = alone.data();
  top.probability = alone_top.data();
  for (int32_t row = 0; row < kRows; ++row) {
    args.rows = top.rows = {&row, nullptr, 1};
    args.logits = top.logits = {logits.data() + row * kVocabulary, kVocabulary};
    backend().Candidates(args);
    backend().TopProbability(top);
  }
  EXPECT_EQ(0, std::memcmp(alone.data(), together.data(), alone.size() * sizeof(Candidate)));
  EXPECT_TRUE(SameBits(alone_top.data(), together_top.data(), kRows));
}

// `count` different tokens of a vocabulary, ascending.
std::vector<int32_t> RandomTokens(int32_t vocabulary, int32_t count, uint32_t seed) {
  std::vector<int32_t> all(vocabulary), tokens;
  std::iota(all.begin(), all.end(), 0);
  std::mt19937 random(seed);
  std::sample(all.begin(), all.end(), std::back_inserter(tokens), count, random);
  return tokens;
}

// Rows of logits of which all, or every second, may only choose among the tokens of a list.
class ListedTokensTest : public CandidatesOpsTest {
 protected:
  void Run(int32_t vocabulary, int32_t listed, int32_t n, bool every_row) {
    tokens_ = RandomTokens(vocabulary, listed, vocabulary + listed);
    list_ = {tokens_.data(), listed};
    rows_ = SparseRows(n);
    lists_.assign(rows_.end() + 1, nullptr);
    for (int32_t i = 0; i < n; i += every_row ? 1 : 2) lists_[rows_[i]] = &list_;
    constraints_.assign(rows_.end() + 1, {});
    for (TokenConstraint& constraint : constraints_) {
      constraint.allow_end = Uniform(0, 1) == 1;
      constraint.markers = static_cast<uint32_t>(Uniform(0, (1 << 20) - 1));
      if (Uniform(0, 2) == 0) constraint.stand_in = kSpecialTokens.first_marker + Uniform(0, 3);
      if (Uniform(0, 3) == 0) constraint.forced = Uniform(0, vocabulary - 1);  // in the list or not
    }
    values_.resize(static_cast<size_t>(rows_.capacity()) * vocabulary);
    for (float& value : values_) value = 0.5f * static_cast<float>(Uniform(-8, 8));  // ties everywhere
    full_ = {values_.data(), vocabulary, lists_.data()};
  }

  // The listed logits of every row, next to each other.
  Logits Compact() {
    compact_.clear();
    for (int32_t i = 0; i < rows_.capacity(); ++i) {
      for (const int32_t token : tokens_) compact_.push_back(values_[static_cast<size_t>(i) * full_.width + token]);
    }
    return {compact_.data(), list_.count, lists_.data(), true};
  }

  std::vector<Candidate> CandidatesOf(const Logits& logits, int32_t width, bool reference) {
    std::vector<Candidate> found(static_cast<size_t>(rows_.end() + 1) * width, Candidate{-7, -7.0f});
    const CandidatesArgs args = {.rows = rows_.rows(),
                                 .logits = logits,
                                 .special = kSpecialTokens,
                                 .constraints = constraints_.data(),
                                 .width = width,
                                 .candidates = found.data()};
    reference ? CandidatesReference(args) : backend().Candidates(args);
    return found;
  }

  std::vector<float> TopOf(const Logits& logits, bool reference) {
    std::vector<float> found(rows_.end() + 1, -7.0f);
    const TopProbabilityArgs args = {.rows = rows_.rows(), .logits = logits, .probability = found.data()};
    reference ? TopProbabilityReference(args) : backend().TopProbability(args);
    return found;
  }

  void ExpectTheReferences(const Logits& logits, int32_t width) {
    const std::vector<Candidate> expected = CandidatesOf(logits, width, true), got = CandidatesOf(logits, width, false);
    for (size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].token, expected[k].token) << "candidate " << k;
      if (std::isfinite(expected[k].log_probability)) {
        ASSERT_NEAR(got[k].log_probability, expected[k].log_probability, 5e-6f);
      } else {
        ASSERT_EQ(got[k].log_probability, expected[k].log_probability);
      }
    }
    const std::vector<float> expected_top = TopOf(logits, true), top = TopOf(logits, false);
    ASSERT_LE(LargestDifference(expected_top.data(), top.data(), top.size()), 2e-6f);
  }

  std::vector<int32_t> tokens_;
  TokenList list_;
  SparseRows rows_;
  std::vector<const TokenList*> lists_;
  std::vector<TokenConstraint> constraints_;
  std::vector<float> values_, compact_;
  Logits full_;
};
SALIENT_TEST_ALL_BACKENDS(ListedTokensTest);

TEST_P(ListedTokensTest, AreTheReferences) {
  for (const auto& [vocabulary, listed] :
       {std::pair(1, 1), {5, 1}, {17, 16}, {63, 7}, {64, 64}, {1000, 33}, {4099, 1025}}) {
    for (const int32_t width : {1, 4, 32}) {
      for (const int32_t n : {0, 1, 9}) {
        SCOPED_TRACE(testing::Message() << listed << " of " << vocabulary << ", width " << width << ", rows " << n);
        Run(vocabulary, listed, n, false);
        ExpectTheReferences(full_, width);
        Run(vocabulary, listed, n, true);
        ExpectTheReferences(full_, width);
        ExpectTheReferences(Compact(), width);
      }
    }
  }
}

TEST_P(ListedTokensTest, BothLayoutsGiveTheSameBits) {
  for (const int32_t listed : {1, 31, 700}) {
    Run(2011, listed, 13, true);
    const Logits compact = Compact();
    const std::vector<Candidate> of_full = CandidatesOf(full_, 8, false), of_compact = CandidatesOf(compact, 8, false);
    EXPECT_EQ(0, std::memcmp(of_full.data(), of_compact.data(), of_full.size() * sizeof(Candidate)));
    const std::vector<float> top_full = TopOf(full_, false), top_compact = TopOf(compact, false);
    EXPECT_TRUE(SameBits(top_full.data(), top_compact.data(), top_full.size()));
  }
}

TEST_P(ListedTokensTest, AListOfEveryTokenIsNoList) {
  Run(777, 777, 11, true);
  const Logits none = {full_.values, full_.width};
  const std::vector<Candidate> with = CandidatesOf(full_, 6, false), without = CandidatesOf(none, 6, false);
  EXPECT_EQ(0, std::memcmp(with.data(), without.data(), with.size() * sizeof(Candidate)));
  const std::vector<float> top_with = TopOf(full_, false), top_without = TopOf(none, false);
  EXPECT_TRUE(SameBits(top_with.data(), top_without.data(), top_with.size()));
}

}  // namespace
}  // namespace salient
