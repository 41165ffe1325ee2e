// What translations of a segment beside its first one have in common: the request for one, how it is cancelled, and
// what it does to the document's result. Used by the guard and for terms.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/time/time.h"
#include "engine/api/request.h"
#include "engine/api/result.h"

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

// Puts other translations, by the index of their segments, into a result.
void ReplaceSegments(std::map<int32_t, TranslatedSegment> replaced, TranslationResult* result);

// Adds the work of second translations to the report of a document whose first translation was done at `done_at`.
// Ratios stay relative to dense attention for the first one.
void AddWork(const std::vector<CostReport>& second, absl::Time done_at, CostReport* report);

}  // namespace salient
