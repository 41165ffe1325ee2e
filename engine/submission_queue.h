// Documents on their way to the step loop: from the moment they are admitted, while a worker cuts them, until the first
// chunk of each is begun. Holds the queue's bounds, and what workers have cut and the loop has not yet taken.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

class SubmissionQueue {
 public:
  explicit SubmissionQueue(const EngineOptions& options) : options_(options) {}

  // A document's number, ascending; it waits from now on. RESOURCE_EXHAUSTED where the queue is full; the reason of End
  // after it. One that finds nobody waiting is always taken, as is one that continues another.
  absl::StatusOr<int64_t> Enter(int64_t bytes, absl::Time now, bool continues = false);

  // A worker has cut the document; after End it gets the reason, and the arrival stays its own.
  absl::Status Deliver(Arrival& arrival);
  std::vector<Arrival> TakeArrivals();

  // The document has begun, or is over. Nothing happens if it did not wait.
  void StopWaiting(int64_t document);
  bool waits(int64_t document) const;

  // Source tokens of chunks that are cut and were not begun, as the scheduler counts them.
  void SetTokensCut(int64_t tokens);

  // Nothing is taken any more. Returns what was not taken yet. The first reason counts.
  std::vector<Arrival> End(const absl::Status& reason);
  absl::Status ended() const;

  // Fills in what is known here of those who wait.
  void Describe(absl::Time now, EngineStatus& status) const;

 private:
  struct Waiting {
    absl::Time since;
    int64_t bytes = 0;
    bool cut = false;
  };

  // With mutex_ held.
  absl::Status CheckRoom(int64_t bytes) const;
  int64_t tokens_waiting() const;

  const EngineOptions options_;
  mutable std::mutex mutex_;
  int64_t next_document_ = 0;
  std::map<int64_t, Waiting> waiting_;  // oldest first
  int64_t bytes_ = 0;                   // of those waiting
  int64_t uncut_bytes_ = 0;             // of those that are not cut yet
  int64_t tokens_cut_ = 0;
  std::vector<Arrival> arrivals_;
  absl::Status ended_;
};

}  // namespace salient
