// The guard, and translations for terms, between an engine and a listener, both of the test: what is translated again,
// what is kept, and in which order the listener is told.

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/retranslation/term_translation.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps what is submitted; the test answers.
class HeldEngine final : public Engine {
 public:
  struct Submission {
    TranslationRequest request;
    std::shared_ptr<TranslationListener> listener;
    bool cancelled = false;
  };

  HeldEngine() { info_.config.chunk_tokens = 1000; }

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                            std::shared_ptr<TranslationListener> listener) override {
    if (!refusal.ok()) return refusal;
    submissions.push_back({std::move(request), std::move(listener)});
    return std::make_shared<Ticket>(submissions.back());
  }
  const ModelInfo& info() const override { return info_; }
  EngineStatus status() const override { return {}; }

  std::deque<Submission> submissions;
  absl::Status refusal;

 private:
  class Ticket final : public TranslationTicket {
   public:
    explicit Ticket(Submission& submission) : submission_(submission) {}
    void Cancel() override { submission_.cancelled = true; }

   private:
    Submission& submission_;
  };
  ModelInfo info_;
};

struct Events final : public CheckedListener {
  void OnSegment(const TranslatedSegment& segment, const GuardVerdict* verdict) override {
    texts.push_back(segment.text);
    if (verdict != nullptr) told.push_back(verdict->retry);
    if (on_segment) on_segment();
  }
  void OnProgress(const TranslationProgress& progress) override { segments_done = progress.segments_done; }
  void OnDone(absl::StatusOr<TranslationResult> done, std::vector<GuardVerdict> of_segments,
              GuardCounts done_counts) override {
    ++ends;
    result = std::move(done);
    verdicts = std::move(of_segments);
    counts = done_counts;
  }

  std::vector<std::string> texts;
  std::vector<RetryOutcome> told;
  std::function<void()> on_segment;
  int segments_done = 0, ends = 0;
  absl::StatusOr<TranslationResult> result = absl::UnknownError("none yet");
  std::vector<GuardVerdict> verdicts;
  GuardCounts counts;
};

TranslatedSegment Segment(int32_t index, const std::string& source, const std::string& text) {
  TranslatedSegment segment;
  segment.index = index;
  segment.source = source;
  segment.text = text;
  segment.source_tokens = segment.target_tokens = static_cast<int32_t>(source.size() / 5 + 1);
  segment.score = -0.2 * segment.target_tokens;
  return segment;
}

TranslationResult ResultOf(const std::vector<TranslatedSegment>& segments) {
  TranslationResult result;
  for (const TranslatedSegment& segment : segments) {
    result.begins.push_back(result.text.size());
    result.text += segment.text + "\n";
    result.segments.push_back(segment);
    result.report.source_tokens += segment.source_tokens;
    result.report.target_tokens += segment.target_tokens;
  }
  result.report.decoder_flops = 100;
  result.report.dense_attention = 1000;
  result.report.attention_cost_ratio = 0.1;
  return result;
}

const TranslatedSegment kGood = Segment(0, "The weather is fine today.", "Das Wetter ist heute schön.");
const TranslatedSegment kFaulty = Segment(1, "It was in 1998.", "Es war im Jahr 1889.");
const TranslatedSegment kMended = Segment(0, "It was in 1998.", "Das war 1998.");  // as a document of its own
const TranslatedSegment kLast = Segment(2, "Then he left.", "Dann ging er.");

class GuardTest : public ::testing::Test {
 protected:
  void Begin(GuardMode mode, TranslationRequest request = {}, TermBeginning terms = {}) {
    request.text = "source";
    request.options.selection.policy = SelectionPolicy::kLearned;
    request.options.depth.policy = DepthPolicy::kGeometric;
    auto submitted = TranslateWithTerms(engine_, std::move(request), {mode, {}, std::move(terms)}, events_);
    ASSERT_TRUE(submitted.ok()) << submitted.status();
    ticket_ = *std::move(submitted);
  }
  TranslationListener& Listener(int submission) { return *engine_.submissions[submission].listener; }
  void SendAll() {
    for (const TranslatedSegment& segment : {kGood, kFaulty, kLast}) Listener(0).OnSegment(segment);
    Listener(0).OnDone(ResultOf({kGood, kFaulty, kLast}));
  }

  HeldEngine engine_;
  std::shared_ptr<Events> events_ = std::make_shared<Events>();
  std::shared_ptr<TranslationTicket> ticket_;
};

TEST_F(GuardTest, OffPassesEverythingOn) {
  Begin(GuardMode::kOff);
  SendAll();
  EXPECT_THAT(events_->texts, ElementsAre(kGood.text, kFaulty.text, kLast.text));
  EXPECT_THAT(events_->told, IsEmpty());
  EXPECT_THAT(events_->verdicts, IsEmpty());
  EXPECT_EQ(events_->counts.flagged, 0);
  EXPECT_EQ(engine_.submissions.size(), 1u);
}

TEST_F(GuardTest, ReportNamesFaultsAndChangesNothing) {
  Begin(GuardMode::kReport);
  SendAll();
  EXPECT_EQ(engine_.submissions.size(), 1u);
  ASSERT_EQ(events_->verdicts.size(), 3u);
  EXPECT_THAT(events_->verdicts[0].check.faults, IsEmpty());
  EXPECT_THAT(events_->verdicts[1].check.faults, ElementsAre(Fault::kNumbers));
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kNone);
  EXPECT_EQ(events_->counts.flagged, 1);
  EXPECT_EQ(events_->counts.retried, 0);
  EXPECT_EQ(events_->result->text, ResultOf({kGood, kFaulty, kLast}).text);
}

TEST_F(GuardTest, AFaultySegmentIsTranslatedAgainByItself) {
  TranslationRequest request;
  request.client = "someone";
  request.options.search.prefix = "Das";
  request.options.search.shortlist = true;
  Begin(GuardMode::kRetry, request);
  SendAll();
  ASSERT_EQ(engine_.submissions.size(), 2u);
  const TranslationRequest& again = engine_.submissions[1].request;
  EXPECT_EQ(again.text, kFaulty.source);
  EXPECT_EQ(again.segmentation, Segmentation::kLines);
  EXPECT_EQ(again.client, "someone");
  EXPECT_TRUE(again.continues);
  EXPECT_EQ(again.options.selection.policy, SelectionPolicy::kDense);
  EXPECT_FALSE(again.options.depth.policy.has_value());
  EXPECT_EQ(again.options.search.beam, 4);
  EXPECT_EQ(again.options.search.no_repeat, 4);
  EXPECT_FALSE(again.options.search.shortlist.has_value());
  EXPECT_EQ(again.options.search.prefix, "");  // of the first segment alone
}

TEST_F(GuardTest, SegmentsStayInOrderWhileOneIsTranslatedAgain) {
  Begin(GuardMode::kRetry);
  SendAll();
  EXPECT_THAT(events_->texts, ElementsAre(kGood.text));
  EXPECT_EQ(events_->ends, 0);
  Listener(1).OnDone(ResultOf({kMended}));
  EXPECT_THAT(events_->texts, ElementsAre(kGood.text, kMended.text, kLast.text));
  EXPECT_THAT(events_->told, ElementsAre(RetryOutcome::kNone, RetryOutcome::kReplaced, RetryOutcome::kNone));
  EXPECT_EQ(events_->ends, 1);
}

TEST_F(GuardTest, ProgressCountsOnlyWhatTheListenerHas) {
  Begin(GuardMode::kRetry);
  Listener(0).OnSegment(kGood);
  Listener(0).OnSegment(kFaulty);
  Listener(0).OnSegment(kLast);
  Listener(0).OnProgress({.segments_done = 3, .segments_total = 3, .target_tokens = 10});
  EXPECT_EQ(events_->segments_done, 1);
}

TEST_F(GuardTest, TheBetterTranslationIsKept) {
  Begin(GuardMode::kRetry);
  SendAll();
  Listener(1).OnDone(ResultOf({kMended}));
  ASSERT_TRUE(events_->result.ok()) << events_->result.status();
  const TranslationResult& result = *events_->result;
  EXPECT_EQ(result.text, kGood.text + "\n" + kMended.text + "\n" + kLast.text + "\n");
  EXPECT_EQ(result.segments[1].text, kMended.text);
  EXPECT_EQ(result.segments[1].index, 1);
  EXPECT_THAT(events_->verdicts[1].check.faults, IsEmpty());
  EXPECT_THAT(events_->verdicts[1].first_faults, ElementsAre(Fault::kNumbers));
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kReplaced);
  EXPECT_EQ(events_->counts.flagged, 1);
  EXPECT_EQ(events_->counts.retried, 1);
  EXPECT_EQ(events_->counts.replaced, 1);
  EXPECT_EQ(events_->counts.retry_target_tokens, kMended.target_tokens);
}

TEST_F(GuardTest, ASecondTranslationThatIsNoBetterIsDropped) {
  Begin(GuardMode::kRetry);
  SendAll();
  Listener(1).OnDone(ResultOf({Segment(0, kFaulty.source, "Es war 1777.")}));
  EXPECT_EQ(events_->result->segments[1].text, kFaulty.text);
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kKept);
  EXPECT_EQ(events_->counts.replaced, 0);
}

TEST_F(GuardTest, TheReportHasTheWorkOfBoth) {
  Begin(GuardMode::kRetry);
  SendAll();
  TranslationResult second = ResultOf({kMended});
  second.report.dense_attention = 100;
  second.report.attention_cost_ratio = 1;
  second.report.encode_seconds = 2;
  Listener(1).OnDone(second);
  const CostReport& report = events_->result->report;
  EXPECT_EQ(report.decoder_flops, 200);
  EXPECT_DOUBLE_EQ(report.attention_cost_ratio, 0.1 + 100.0 / 1000);
  EXPECT_EQ(report.encode_seconds, 2);
  EXPECT_EQ(report.target_tokens, kGood.target_tokens + kFaulty.target_tokens + kLast.target_tokens);
}

TEST_F(GuardTest, AFailedRetryCostsNothingOfTheDocument) {
  Begin(GuardMode::kRetry);
  SendAll();
  Listener(1).OnDone(absl::DeadlineExceededError("late"));
  ASSERT_TRUE(events_->result.ok());
  EXPECT_EQ(events_->result->segments[1].text, kFaulty.text);
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kFailed);
  EXPECT_THAT(events_->verdicts[1].first_faults, IsEmpty());
}

TEST_F(GuardTest, ARefusedRetryLeavesTheFirstTranslation) {
  Begin(GuardMode::kRetry);
  engine_.refusal = absl::UnavailableError("the engine is dead");
  SendAll();
  ASSERT_TRUE(events_->result.ok());
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kFailed);
  EXPECT_EQ(events_->counts.retried, 0);
}

TEST_F(GuardTest, ARetryEndsBeforeTheDeadline) {
  TranslationRequest request;
  request.deadline = absl::Now() + absl::Seconds(100);
  Begin(GuardMode::kRetry, request);
  SendAll();
  EXPECT_LT(engine_.submissions[1].request.deadline, request.deadline - absl::Seconds(15));
  EXPECT_GT(engine_.submissions[1].request.deadline, absl::Now() + absl::Seconds(60));
}

TEST_F(GuardTest, OnlyAPartOfADocumentIsTranslatedAgain) {
  Begin(GuardMode::kRetry);
  std::vector<TranslatedSegment> all;
  for (int32_t i = 0; i < 40; ++i) {
    all.push_back(kFaulty);
    all.back().index = i;
    all.back().source_tokens = all.back().target_tokens = 32;
    Listener(0).OnSegment(all.back());
  }
  Listener(0).OnDone(ResultOf(all));
  const size_t again = engine_.submissions.size() - 1;
  EXPECT_GT(again, 4u);
  EXPECT_LT(again, 20u);
  for (size_t i = 1; i <= again; ++i) Listener(static_cast<int>(i)).OnDone(ResultOf({kMended}));
  EXPECT_EQ(events_->counts.flagged, 40);
  EXPECT_EQ(events_->counts.retried, static_cast<int32_t>(again));
  size_t left = 0;
  for (const GuardVerdict& verdict : events_->verdicts) {
    if (verdict.retry != RetryOutcome::kNoBudget) continue;
    ++left;
    EXPECT_THAT(verdict.check.faults, ElementsAre(Fault::kNumbers));
  }
  EXPECT_EQ(left, 40 - again);
}

TEST_F(GuardTest, SegmentsThatWereNotStreamedAreCheckedAtTheEnd) {
  Begin(GuardMode::kRetry);
  Listener(0).OnDone(ResultOf({kGood, kFaulty, kLast}));
  ASSERT_EQ(engine_.submissions.size(), 2u);
  Listener(1).OnDone(ResultOf({kMended}));
  EXPECT_THAT(events_->texts, IsEmpty());
  EXPECT_EQ(events_->result->segments[1].text, kMended.text);
}

TEST_F(GuardTest, CancelEndsBothTranslations) {
  Begin(GuardMode::kRetry);
  SendAll();
  ticket_->Cancel();
  EXPECT_TRUE(engine_.submissions[1].cancelled);
  Listener(1).OnDone(absl::CancelledError("cancelled"));
  EXPECT_EQ(events_->ends, 1);
  EXPECT_TRUE(absl::IsCancelled(events_->result.status()));
}

TEST_F(GuardTest, AFailureOfTheDocumentEndsItsRetries) {
  Begin(GuardMode::kRetry);
  Listener(0).OnSegment(kGood);
  Listener(0).OnSegment(kFaulty);
  Listener(0).OnDone(absl::InternalError("scores"));
  EXPECT_TRUE(engine_.submissions[1].cancelled);
  EXPECT_EQ(events_->ends, 1);
  Listener(1).OnDone(ResultOf({kMended}));
  EXPECT_EQ(events_->ends, 1);
  EXPECT_EQ(events_->result.status().message(), "scores");
}

TEST_F(GuardTest, AListenerMayCancelFromWithin) {
  Begin(GuardMode::kRetry);
  events_->on_segment = [this] { ticket_->Cancel(); };
  Listener(0).OnSegment(kGood);
  EXPECT_TRUE(engine_.submissions[0].cancelled);
  Listener(0).OnSegment(kFaulty);  // what is asked for after a cancellation is cancelled, too
  EXPECT_TRUE(engine_.submissions[1].cancelled);
}

TEST_F(GuardTest, WithAlternativesNothingIsTranslatedAgain) {
  TranslationRequest request;
  request.options.search.beam = 4;
  request.options.search.n_best = 2;
  Begin(GuardMode::kRetry, request);
  SendAll();
  EXPECT_EQ(engine_.submissions.size(), 1u);
  EXPECT_EQ(events_->counts.flagged, 1);
}

// ---- Terms ----

// Asks each segment for "Himmel" and then for "Sonne", as the next words.
std::optional<std::string> NextTerm(const TranslatedSegment& segment, size_t kept) {
  const std::string before = segment.text.substr(0, kept == 0 ? 4 : kept + 1);
  if (segment.text.find("Himmel") == std::string::npos) return before + "Himmel";
  if (segment.text.find("Sonne") == std::string::npos) return before + "Sonne";
  return std::nullopt;
}

TEST_F(GuardTest, ATranslationGoesOnFromEachTermThatItLacks) {
  TranslationRequest request;
  request.options.search.beam = 2;
  request.options.search.n_best = 2;
  Begin(GuardMode::kOff, request, NextTerm);
  Listener(0).OnSegment(kGood);
  ASSERT_EQ(engine_.submissions.size(), 2u);
  const TranslationRequest& first = engine_.submissions[1].request;
  EXPECT_EQ(first.text, kGood.source);
  EXPECT_EQ(first.segmentation, Segmentation::kLines);
  EXPECT_TRUE(first.continues);
  EXPECT_EQ(first.options.search.prefix, "Das Himmel");
  EXPECT_EQ(first.options.search.beam, 4);
  EXPECT_EQ(first.options.search.n_best, 1);
  EXPECT_EQ(first.options.selection.policy, SelectionPolicy::kDense);

  Listener(1).OnDone(ResultOf({Segment(0, kGood.source, "Das Himmel ist heute schön.")}));
  ASSERT_EQ(engine_.submissions.size(), 3u);
  EXPECT_EQ(engine_.submissions[2].request.options.search.prefix, "Das Himmel Sonne");
  EXPECT_THAT(events_->texts, IsEmpty()) << "the listener waits";
  const TranslatedSegment whole = Segment(0, kGood.source, "Das Himmel Sonne ist schön.");
  Listener(2).OnDone(ResultOf({whole}));
  EXPECT_THAT(events_->texts, ElementsAre(whole.text));
  Listener(0).OnDone(ResultOf({kGood}));
  ASSERT_TRUE(events_->result.ok()) << events_->result.status();
  EXPECT_EQ(events_->result->text, whole.text + "\n");
  EXPECT_EQ(events_->counts.retry_target_tokens, 2 * kGood.target_tokens);
  EXPECT_EQ(events_->counts.retried, 0);
  EXPECT_EQ(events_->result->report.decoder_flops, 300);
  EXPECT_THAT(events_->verdicts, IsEmpty()) << "the guard is off";
}

TEST_F(GuardTest, TermsAreLookedForInTheTranslationThatTheGuardKeeps) {
  Begin(GuardMode::kRetry, {}, [](const TranslatedSegment& segment, size_t) {
    const bool lacks = segment.text == kMended.text;
    return lacks ? std::optional<std::string>("Das Jahr") : std::nullopt;
  });
  SendAll();
  ASSERT_EQ(engine_.submissions.size(), 2u);
  Listener(1).OnDone(ResultOf({kMended}));
  ASSERT_EQ(engine_.submissions.size(), 3u);
  EXPECT_EQ(engine_.submissions[2].request.options.search.prefix, "Das Jahr");
  EXPECT_EQ(events_->ends, 0);
  Listener(2).OnDone(ResultOf({Segment(0, kFaulty.source, "Das Jahr war 1998.")}));
  ASSERT_EQ(events_->ends, 1);
  EXPECT_EQ(events_->result->segments[1].text, "Das Jahr war 1998.");
  EXPECT_EQ(events_->result->segments[1].index, 1);
  EXPECT_EQ(events_->verdicts[1].retry, RetryOutcome::kReplaced);
}

// One loops, the other does not begin as it was told to.
TEST_F(GuardTest, ATranslationForATermThatIsWorseIsDropped) {
  constexpr char kLooped[] = "Das Himmel ist so schön, so schön, so schön, so schön, so schön, so schön.";
  for (const char* text : {kLooped, "Der Himmel ist heute schön."}) {
    events_ = std::make_shared<Events>();
    engine_.submissions.clear();
    Begin(GuardMode::kReport, {}, NextTerm);
    Listener(0).OnSegment(kGood);
    Listener(1).OnDone(ResultOf({Segment(0, kGood.source, text)}));
    Listener(0).OnDone(ResultOf({kGood}));
    EXPECT_EQ(engine_.submissions.size(), 2u);
    EXPECT_EQ(events_->result->text, kGood.text + "\n");
    EXPECT_THAT(events_->verdicts[0].check.faults, IsEmpty());
  }
}

TEST_F(GuardTest, TranslationsForTermsThatFailLeaveTheFirst) {
  Begin(GuardMode::kOff, {}, NextTerm);
  Listener(0).OnSegment(kGood);
  Listener(1).OnDone(absl::DeadlineExceededError("late"));
  engine_.refusal = absl::UnavailableError("the engine is dead");
  Listener(0).OnSegment(kLast);
  EXPECT_THAT(events_->texts, ElementsAre(kGood.text, kLast.text));
}

TEST_F(GuardTest, ASegmentIsTranslatedForItsTermsSoManyTimesAtMost) {
  Begin(GuardMode::kOff, {},
        [](const TranslatedSegment& segment, size_t kept) { return segment.text.substr(0, kept) + "x"; });
  Listener(0).OnSegment(kGood);
  size_t at = 1;
  for (; at < engine_.submissions.size() && at < 100; ++at) {
    const std::string prefix = engine_.submissions[at].request.options.search.prefix;
    Listener(static_cast<int>(at)).OnDone(ResultOf({Segment(0, kGood.source, prefix)}));
  }
  EXPECT_EQ(at, 9u);
  EXPECT_THAT(events_->texts, ElementsAre("xxxxxxxx"));
}

TEST_F(GuardTest, WhatTheRequestSaysTheTranslationBeginsWithStays) {
  size_t least = 0;
  TranslationRequest request;
  request.options.search.prefix = "Das Wetter";
  Begin(GuardMode::kOff, request, [&least](const TranslatedSegment& segment, size_t kept) {
    if (segment.index == 0) least = kept;
    return std::nullopt;
  });
  Listener(0).OnSegment(kGood);
  EXPECT_EQ(least, 10u);
}

TEST_F(GuardTest, ASegmentOfSeveralChunksIsNotTranslatedForTerms) {
  Begin(GuardMode::kOff, {}, NextTerm);
  TranslatedSegment longer = kGood;
  longer.source_tokens = 100000;
  Listener(0).OnSegment(longer);
  EXPECT_EQ(engine_.submissions.size(), 1u);
  EXPECT_THAT(events_->texts, ElementsAre(kGood.text));
}

}  // namespace
}  // namespace salient
