// Documents on their way to the step loop: from the moment they are admitted, while a worker cuts them, until the first
// chunk of each is begun. Holds the queue's bounds, what no worker has begun to cut, and what workers have cut and the
// loop has not yet taken.
//
// A document that is not cut can be withdrawn. Then it waits no longer, and its text is let go of: at once, or by the
// worker that is cutting it. Its listener is told by whoever ended its waiting, so once.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/document/job.h"
#include "engine/engine.h"

namespace salient {

// A document that is cut.
struct Arrival {
  int64_t document = 0;
  std::unique_ptr<DocumentJob> job;
  std::vector<Demand> demands;  // of its chunks
};

// What the listener of a document is told whose deadline passed before it was begun.
inline absl::Status LateInQueue() {
  return absl::DeadlineExceededError("the deadline passed while the document waited in the queue");
}

class SubmissionQueue {
 public:
  explicit SubmissionQueue(const EngineOptions& options) : options_(options) {}

  // A document's number, ascending; it waits from now on. RESOURCE_EXHAUSTED where the queue is full; the reason of End
  // after it. One that finds nobody waiting is always taken, as is one that continues another.
  absl::StatusOr<int64_t> Enter(Submission submission);

  // For the worker that cuts the document; nothing if it was withdrawn.
  std::optional<Submission> TakeToCut(int64_t document);
  // A worker has cut the document. Where it was withdrawn, and after End, which gives its reason, the arrival stays the
  // worker's own.
  absl::Status Deliver(Arrival& arrival);
  std::vector<Arrival> TakeArrivals();

  // The document's listener, if it is not cut yet; it waits no longer. Null if it is cut, or did not wait.
  std::shared_ptr<TranslationListener> Withdraw(int64_t document);
  // The same of all whose deadline has passed.
  std::vector<std::shared_ptr<TranslationListener>> WithdrawLate(absl::Time now);
  absl::Time next_deadline() const;  // of those that are not cut

  // The document has begun, or is over. False, and nothing happens, if it did not wait.
  bool StopWaiting(int64_t document);
  bool waits(int64_t document) const;

  // Source tokens of chunks that are cut and were not begun, as the scheduler counts them.
  void SetTokensCut(int64_t tokens);

  // Nothing is taken any more. Returns what was cut and not taken yet; the workers end what is not cut. The first
  // reason counts.
  std::vector<Arrival> End(const absl::Status& reason);
  absl::Status ended() const;

  // Fills in what is known here of those who wait.
  void Describe(absl::Time now, EngineStatus& status) const;

 private:
  struct Waiting {
    absl::Time since, deadline;
    int64_t bytes = 0;
    bool cut = false;
    std::shared_ptr<TranslationListener> listener;  // until it is cut
    std::unique_ptr<Submission> submission;         // until a worker takes it
  };

  // With mutex_ held.
  absl::Status CheckRoom(int64_t bytes) const;
  int64_t tokens_waiting() const;
  Waiting Remove(std::map<int64_t, Waiting>::iterator at);

  const EngineOptions options_;
  mutable std::mutex mutex_;
  int64_t next_document_ = 0;
  std::map<int64_t, Waiting> waiting_;                  // oldest first
  std::set<std::pair<absl::Time, int64_t>> deadlines_;  // of those that are not cut, but for those that have none
  int64_t bytes_ = 0;                                   // of those waiting
  int64_t uncut_bytes_ = 0;                             // of those that are not cut yet
  int64_t tokens_cut_ = 0;
  std::vector<Arrival> arrivals_;
  absl::Status ended_;
};

}  // namespace salient
