// The step loop: documents join between steps, all take one step together, and leave as they finish. It does nothing
// else. Documents are cut before they arrive and replies are put together after they leave, both by workers; documents
// that wait cost a turn nothing.
//
// Thread safety: the constructor starts the loop's thread; the public methods may be called from any.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/base/workers.h"
#include "engine/core/page_pool.h"
#include "engine/document/job.h"
#include "engine/engine.h"
#include "engine/loaded_model.h"
#include "engine/mailbox.h"
#include "engine/schedule/scheduler.h"
#include "engine/submission_queue.h"

namespace salient {

class StepLoop {
 public:
  // `queue`, `workers` and `observer`, which may be null, outlive it.
  StepLoop(const EngineOptions& options, EngineObserver* observer, LoadedModel loaded, SubmissionQueue& queue,
           std::shared_ptr<Mailbox> mailbox, Workers& workers);
  ~StepLoop() { Stop(); }

  // Fails what is in flight and joins the thread. Jobs that it handed to workers still need its model until those stop.
  void Stop();

  // Whether a chunk could run in an empty engine.
  bool CouldFit(const Demand& demand) const { return scheduler_.CouldFit(demand); }
  const Scheduler::Limits& limits() const { return scheduler_.limits(); }
  EngineStatus status() const;  // but for those who wait

 private:
  using Jobs = std::map<int64_t, std::unique_ptr<DocumentJob>>;

  void Loop();
  void TakeArrivals();
  void DropCancelled();
  void DropLate();
  void Admit();
  void Encode();
  void ScheduleChunks();
  void MakeRoom();
  void Step();
  void Collect();
  void GiveBack();
  void StopWaitingForMemory();
  void Publish();
  void Recover(const absl::Status& failure);
  void End();

  Sequence& SequenceOf(const ChunkId& id) { return jobs_.at(id.document)->sequence(id.chunk); }
  void Leave(int64_t document, Sequence& sequence, int32_t chunk);
  void Abandon(int64_t document, DocumentJob& job);
  std::unique_ptr<DocumentJob> Remove(Jobs::iterator at);
  void Drop(Jobs::iterator at, const absl::Status& status);
  // A worker ends the translation and lets go of it.
  void Finish(std::unique_ptr<DocumentJob> job);
  void Fail(std::unique_ptr<DocumentJob> job, const absl::Status& status);
  void Fail(std::shared_ptr<TranslationListener> listener, const absl::Status& status);  // of one that was not cut

  const EngineOptions options_;
  EngineObserver* const observer_;
  SubmissionQueue& queue_;
  const std::shared_ptr<Mailbox> mailbox_;
  Workers& workers_;

  // The loop's own.
  LoadedModel loaded_;                    // without a batch once a failed device could not be opened again
  PageShare &self_share_, &cross_share_;  // of its stores
  Scheduler scheduler_;
  Jobs jobs_;
  std::set<int64_t> begun_;                             // of jobs_, those of which a chunk was admitted
  std::map<int64_t, DocumentJob*> active_;              // of those, the ones that have chunks in flight now
  std::set<std::pair<absl::Time, int64_t>> deadlines_;  // of jobs_, but for those that have none
  absl::Time pass_began_;

  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> turn_began_ = 0;  // nanoseconds; 0: the loop waits for work
  mutable std::mutex mutex_;
  EngineStatus status_;
  std::thread thread_;
};

}  // namespace salient
