// What the guard and terms have in common: segments of a document are translated again before the listener gets them.
//
// A second translation is a document of its own in the engine. The segments behind it wait for it, so that the listener
// gets all in order.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "server/retranslation/checked_listener.h"

namespace salient {

// The segment of `first` as a document of its own: dense, at full depth, with a beam and a bound on repetition. It ends
// in time for the translation before it to be sent by first.deadline.
TranslationRequest SecondRequest(const TranslationRequest& first, const TranslatedSegment& segment);

// Translations in the engine that are cancelled together. Thread safe.
class TicketGroup final : public TranslationTicket {
 public:
  void Add(std::shared_ptr<TranslationTicket> ticket);  // cancelled at once, if the group is
  void Cancel() override;
  bool cancelled() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<TranslationTicket>> tickets_;
  bool cancelled_ = false;
};

// Holds the segments of a document back while they are translated again, and tells the listener of them in order. A
// derived class gives it the segments as they come, and decides which are translated again and what is kept. It calls
// all but tickets() with mutex_ held, and nothing after `ended`. The listener is called with mutex_ held.
class SecondTranslations : public std::enable_shared_from_this<SecondTranslations> {
 public:
  // `request` is the document's. `engine` must outlive its translations.
  SecondTranslations(Engine& engine, const TranslationRequest& request, std::shared_ptr<CheckedListener> listener);
  virtual ~SecondTranslations() = default;

  // Cancels all of the document's translations in the engine. A listener may do so within a call.
  const std::shared_ptr<TicketGroup>& tickets() const { return tickets_; }

 protected:
  // Takes the document's next segment. The listener is told of it if `tell`, else it finds it in the result only.
  // A verdict for each segment, or none for any.
  void Hold(const TranslatedSegment& segment, std::optional<GuardVerdict> verdict, bool tell);
  // Asks the engine for a second translation of a segment that is held; Consider gets it. False if the engine refuses.
  bool Ask(int32_t index, TranslationRequest request);
  // A second translation, whose tokens are in `counts_`. May ask for another one.
  virtual void Consider(int32_t index, absl::StatusOr<TranslatedSegment> second) = 0;
  // Takes another translation of a segment that is held.
  void Replace(int32_t index, TranslatedSegment segment);
  // Tells the listener of all segments that wait for nothing. To be called after Hold.
  void Release();
  // As OnProgress. Segments that are held back are not done.
  void TellProgress(TranslationProgress progress);
  // The end of the first translation, all of whose segments were given to Hold.
  void Finish(absl::StatusOr<TranslationResult> result);

  const TranslatedSegment& segment(int32_t index) const { return held_[index - released_].segment; }
  int32_t taken() const { return released_ + static_cast<int32_t>(held_.size()); }
  bool ended() const { return ended_; }

  Engine& engine_;
  const TranslationRequest request_;  // without its text
  const std::string target_language_;
  std::mutex mutex_;                    // of all below, and of the derived class's state
  std::vector<GuardVerdict> verdicts_;  // of each segment so far; empty without a guard
  GuardCounts counts_;

 private:
  class Second;
  struct Held {
    TranslatedSegment segment;
    bool tell = true;
    bool waits = false;  // for a second translation
  };

  void TakeSecond(int32_t index, absl::StatusOr<TranslationResult> result);
  void EndIfComplete();
  void End(absl::StatusOr<TranslationResult> result);

  const std::shared_ptr<TicketGroup> tickets_ = std::make_shared<TicketGroup>();
  std::shared_ptr<CheckedListener> listener_;
  std::deque<Held> held_;  // not yet told: the first is segment released_
  std::map<int32_t, TranslatedSegment> replaced_;
  std::vector<CostReport> reports_;  // of second translations
  int32_t released_ = 0, waiting_ = 0;
  std::optional<TranslationResult> result_;  // of the first translation, once it is done
  absl::Time done_at_;
  bool ended_ = false;
};

}  // namespace salient
