#include "server/retranslation/term_translation.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "documents/guard/check.h"
#include "server/retranslation/second_translation.h"

namespace salient {
namespace {

constexpr int32_t kMostForTerms = 8;  // translations of a segment for its terms

class TermTranslation final : public SecondTranslations, public CheckedListener {
 public:
  TermTranslation(Engine& engine, const TranslationRequest& request, TermTranslationOptions options,
                  std::shared_ptr<CheckedListener> listener)
      : SecondTranslations(engine, request, std::move(listener)), options_(std::move(options)) {}

  void OnSegment(const TranslatedSegment& segment, const GuardVerdict* verdict) override {
    std::lock_guard lock(mutex_);
    if (ended()) return;
    Take(segment, verdict, /*tell=*/true);
    Release();
  }

  void OnProgress(const TranslationProgress& progress) override {
    std::lock_guard lock(mutex_);
    if (!ended()) TellProgress(progress);
  }

  void OnDone(absl::StatusOr<TranslationResult> result, std::vector<GuardVerdict> verdicts,
              GuardCounts counts) override {
    std::lock_guard lock(mutex_);
    if (ended()) return;
    counts.retry_target_tokens += counts_.retry_target_tokens;
    counts_ = counts;
    if (result.ok()) {
      for (size_t i = taken(); i < result->segments.size(); ++i) {
        Take(result->segments[i], verdicts.empty() ? nullptr : &verdicts[i], /*tell=*/false);
      }
    }
    Finish(std::move(result));
  }

 private:
  struct Asked {
    int32_t times = 0;
    std::string beginning;  // that the last of them was forced to have
  };

  // All of these with mutex_ held.

  void Take(const TranslatedSegment& segment, const GuardVerdict* verdict, bool tell) {
    Hold(segment, verdict != nullptr ? std::optional(*verdict) : std::nullopt, tell);
    AskForTerm(segment);
  }

  void AskForTerm(const TranslatedSegment& segment) {
    // A beginning is forced on a document's first chunk alone.
    if (segment.source_tokens >= engine_.info().config.chunk_tokens) return;
    const auto found = asked_.find(segment.index);
    Asked asked = found == asked_.end() ? Asked{} : found->second;
    if (asked.times == kMostForTerms) return;
    const size_t given = segment.index == 0 ? request_.options.search.prefix.size() : 0;
    std::optional<std::string> beginning = options_.beginning(segment, std::max(given, asked.beginning.size()));
    if (!beginning.has_value()) return;
    TranslationRequest request = SecondRequest(request_, segment);
    request.options.search.prefix = *beginning;
    request.options.search.n_best = 1;
    if (Ask(segment.index, std::move(request))) asked_[segment.index] = {asked.times + 1, *std::move(beginning)};
  }

  // Whether the model was not led astray by what it would not have said, and was able to say it. That this is unlikely
  // is no fault. Of equal faults the translation with the term has the better.
  static bool IsSound(const SegmentCheck& with_term, const SegmentCheck& before) {
    SegmentCheck after{with_term.faults, 1};
    std::erase(after.faults, Fault::kUnlikely);
    return IsBetter(after, {before.faults, 0});
  }

  void Consider(int32_t index, absl::StatusOr<TranslatedSegment> second) override {
    if (!second.ok() || !second->text.starts_with(asked_[index].beginning)) return;
    SegmentCheck check = Check(*second);
    if (!IsSound(check, Check(segment(index)))) return;
    if (!verdicts_.empty()) verdicts_[index].check = std::move(check);
    Replace(index, *std::move(second));
    AskForTerm(segment(index));
  }

  SegmentCheck Check(const TranslatedSegment& segment) const {
    return CheckSegment(segment, target_language_, options_.calibration);
  }

  const TermTranslationOptions options_;
  std::map<int32_t, Asked> asked_;  // by segment
};

}  // namespace

absl::StatusOr<std::shared_ptr<TranslationTicket>> TranslateWithTerms(Engine& engine, TranslationRequest request,
                                                                      TermTranslationOptions options,
                                                                      std::shared_ptr<CheckedListener> listener) {
  const GuardMode guard = options.guard;
  const GuardCalibration calibration = options.calibration;
  if (!options.beginning) return TranslateGuarded(engine, std::move(request), guard, calibration, std::move(listener));
  auto translation = std::make_shared<TermTranslation>(engine, request, std::move(options), std::move(listener));
  auto ticket = TranslateGuarded(engine, std::move(request), guard, calibration, translation);
  if (!ticket.ok()) return ticket.status();
  translation->tickets()->Add(*std::move(ticket));
  return translation->tickets();
}

}  // namespace salient
