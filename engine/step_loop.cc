#include "engine/step_loop.h"

#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace salient {
namespace {

// While nobody waits for an encoding, it is looked up from only to see cancellations and deadlines.
constexpr absl::Duration kUnhurriedSlice = absl::Milliseconds(100);

// While there is nothing to do before other engines give memory back, deadlines are looked at so often.
constexpr absl::Duration kWaitForMemory = absl::Milliseconds(10);

Scheduler::Limits LimitsOf(const EngineOptions& options, const LoadedModel& loaded) {
  return {.rows = loaded.batch_options.max_rows,
          .self_pages = loaded.stores->self.share().most(),
          .cross_pages = loaded.stores->cross.share().most(),
          .rows_ahead = options.max_rows_ahead,
          .encode_tokens = loaded.batch_options.encode_tokens,
          .encode_chunks = loaded.batch_options.encode_chunks};
}

}  // namespace

StepLoop::StepLoop(const EngineOptions& options, EngineObserver* observer, LoadedModel loaded, SubmissionQueue& queue,
                   std::shared_ptr<Mailbox> mailbox, Workers& workers)
    : options_(options),
      observer_(observer),
      queue_(queue),
      mailbox_(std::move(mailbox)),
      workers_(workers),
      loaded_(std::move(loaded)),
      self_share_(loaded_.stores->self.share()),
      cross_share_(loaded_.stores->cross.share()),
      scheduler_(LimitsOf(options, loaded_), &self_share_, &cross_share_) {
  Publish();
  thread_ = std::thread([this] { Loop(); });
}

void StepLoop::Stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  mailbox_->Ring();
  thread_.join();
}

EngineStatus StepLoop::status() const {
  const int64_t turn_began = turn_began_;
  std::lock_guard lock(mutex_);
  EngineStatus status = status_;
  if (turn_began != 0) status.turn_seconds = absl::ToDoubleSeconds(absl::Now() - absl::FromUnixNanos(turn_began));
  return status;
}

// One turn: documents come in, leave if nobody wants them any more, join, and take one step together.
void StepLoop::Loop() {
  while (!stopping_) {
    turn_began_ = absl::ToUnixNanos(absl::Now());
    TakeArrivals();
    DropCancelled();
    DropLate();
    Admit();
    Encode();
    ScheduleChunks();
    MakeRoom();
    Step();
    if (const absl::Status status = loaded_.backend->status(); !status.ok()) Recover(status);
    if (loaded_.batch == nullptr) break;
    Collect();
    GiveBack();
    if (jobs_.empty()) {
      turn_began_ = 0;
      mailbox_->WaitUntil(queue_.next_deadline());
    } else if ((self_share_.waiting() || cross_share_.waiting()) && !loaded_.batch->encoding() &&
               !loaded_.batch->decoding()) {
      mailbox_->WaitFor(kWaitForMemory);
    }
  }
  End();
}

void StepLoop::TakeArrivals() {
  for (Arrival& arrival : queue_.TakeArrivals()) {
    if (arrival.demands.empty()) {  // nothing to translate
      queue_.StopWaiting(arrival.document);
      Finish(std::move(arrival.job));
      continue;
    }
    DocumentJob& job = *arrival.job;
    scheduler_.Enqueue(arrival.document, std::move(arrival.demands), job.flow());
    if (job.deadline() != absl::InfiniteFuture()) deadlines_.emplace(job.deadline(), arrival.document);
    job.ReportProgress();
    jobs_.emplace(arrival.document, std::move(arrival.job));
  }
}

void StepLoop::DropCancelled() {
  const absl::Status cancelled = absl::CancelledError("the request was cancelled");
  std::vector<int64_t> early;
  for (const int64_t document : mailbox_->TakeCancelled()) {
    const auto at = jobs_.find(document);
    if (at != jobs_.end()) {
      Drop(at, cancelled);
    } else if (std::shared_ptr<TranslationListener> listener = queue_.Withdraw(document); listener != nullptr) {
      Fail(std::move(listener), cancelled);
    } else if (queue_.waits(document)) {  // cut since this turn began; else it is over
      early.push_back(document);
    }
  }
  if (!early.empty()) mailbox_->PutBack(early);
}

void StepLoop::DropLate() {
  const absl::Time now = absl::Now();
  const absl::Status late = LateInQueue();
  for (std::shared_ptr<TranslationListener>& listener : queue_.WithdrawLate(now)) Fail(std::move(listener), late);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto at = jobs_.find(deadlines_.begin()->second);
    Drop(at, at->second->started()
                 ? absl::DeadlineExceededError("the deadline passed while the document was translated")
                 : late);
  }
}

// What is not used, if anybody waits for it. At the end of a turn, so that none sleeps on what others wait for. The
// device must be done with it: steps under way may read what a cancelled chunk had, and write to it, and so may its
// encoding, which steps wait for then (Batch::Leave).
void StepLoop::GiveBack() {
  if (jobs_.empty()) StopWaitingForMemory();
  const auto give = [this](PageShare& share, int32_t reserved) {
    if (share.held() <= reserved || !share.wanted()) return;
    DeviceMemory& memory = loaded_.backend->memory();
    memory.WaitFor(memory.Mark());
    if (loaded_.backend->status().ok()) share.Keep(reserved);
  };
  give(self_share_, scheduler_.self_reserved());
  give(cross_share_, scheduler_.cross_reserved());
}

// Nothing is asked for until the next Admit: who stayed in line would hold up all others behind it.
void StepLoop::StopWaitingForMemory() {
  self_share_.StopWaiting();
  cross_share_.StopWaiting();
}

void StepLoop::Admit() {
  if (loaded_.batch->encoding()) return;
  scheduler_.BeginPass();
  std::vector<Sequence*> joining;
  const absl::Time now = absl::Now();
  while (const std::optional<ChunkId> admitted = scheduler_.Admit()) {
    DocumentJob& job = *jobs_.at(admitted->document);
    if (begun_.insert(admitted->document).second) queue_.StopWaiting(admitted->document);
    active_.emplace(admitted->document, &job);
    joining.push_back(&job.Start(admitted->chunk, *loaded_.model, *loaded_.backend, loaded_.stores->self,
                                 loaded_.stores->cross, now));
  }
  pass_began_ = now;
  loaded_.batch->Join(joining);
}

// A slice of the encoding under way, short while others wait for their next step. Where a device encodes beside the
// steps, a pass takes the time from its beginning to the turn that finds it done.
void StepLoop::Encode() {
  Batch& batch = *loaded_.batch;
  if (!batch.encoding()) return;
  const bool others_wait = batch.decoding();
  std::vector<DocumentJob*> owners;
  for (const auto& [document, job] : active_) {
    if (job->encoding()) owners.push_back(job);
  }
  const absl::Time start = absl::Now();
  batch.Encode(others_wait ? options_.encode_slice : kUnhurriedSlice);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const bool beside = batch.encodes_beside_steps();
  const double worked = !beside ? seconds : batch.encoding() ? 0 : absl::ToDoubleSeconds(absl::Now() - pass_began_);
  for (DocumentJob* job : owners) job->AddEncodeTime(worked);
  if (!batch.encoding()) {
    for (const ChunkId& id : scheduler_.Encoding()) scheduler_.MarkEncoded(id, SequenceOf(id).deepest());
  }
  if (others_wait && observer_ != nullptr) observer_->OnStall(seconds);
}

void StepLoop::ScheduleChunks() {
  while (const std::optional<ChunkId> next = scheduler_.ScheduleNext()) {
    loaded_.batch->Schedule(SequenceOf(*next));
    jobs_.at(next->document)->MarkDecoding(absl::Now());
  }
}

// Whatever is decoded in the next step has room for its keys, if need be at the cost of the youngest.
void StepLoop::MakeRoom() {
  std::vector<ChunkId> growing = scheduler_.Running();
  for (size_t i = 0; i < growing.size(); ++i) {
    const int32_t pages = SequenceOf(growing[i]).SelfPagesFor(loaded_.batch->most_steps());
    while (i < growing.size() && !scheduler_.Grow(growing[i], pages)) {
      const ChunkId youngest = scheduler_.PreemptYoungest();
      loaded_.batch->Leave(SequenceOf(youngest));
      DocumentJob& job = *jobs_.at(youngest.document);
      job.Preempt(youngest.chunk);
      if (!job.in_flight()) active_.erase(youngest.document);
      growing.pop_back();
      if (observer_ != nullptr) observer_->OnPreempt();
    }
  }
}

void StepLoop::Step() {
  std::vector<Sequence*> first;  // of each document that takes part
  for (const auto& [document, job] : active_) {
    if (Sequence* const sequence = job->FirstDecoding()) first.push_back(sequence);
  }
  for (Sequence* sequence : first) sequence->meter().AddStep(static_cast<int32_t>(first.size()));
  const absl::Time start = absl::Now();
  const int32_t rows = loaded_.batch->Step();
  if (rows == 0) return;
  if (observer_ != nullptr) observer_->OnStep(rows, absl::ToDoubleSeconds(absl::Now() - start));
}

// The status is told before the listeners are, so that who has just got a reply does not find its document running.
void StepLoop::Collect() {
  std::vector<std::unique_ptr<DocumentJob>> finished;
  std::vector<std::pair<int64_t, absl::Status>> sick;
  for (auto at = active_.begin(); at != active_.end();) {
    const auto [document, job] = *at++;
    job->ReportProgress();
    job->Collect([&, name = document](Sequence& sequence, int32_t chunk) { Leave(name, sequence, chunk); });
    if (absl::Status health = job->health(); !health.ok()) sick.emplace_back(document, std::move(health));
    if (!job->in_flight()) active_.erase(document);
    if (job->done()) finished.push_back(Remove(jobs_.find(document)));
  }
  for (auto& [document, health] : sick) Drop(jobs_.find(document), health);
  Publish();
  for (std::unique_ptr<DocumentJob>& job : finished) Finish(std::move(job));
}

void StepLoop::Publish() {
  EngineStatus status;
  status.documents_running = static_cast<int32_t>(begun_.size());
  status.kv_bytes_used = loaded_.stores->used_bytes();
  status.kv_bytes_total = loaded_.pools->bytes;
  queue_.SetTokensCut(scheduler_.tokens_waiting());
  std::lock_guard lock(mutex_);
  status_ = status;
}

// ---- Documents leave ----

void StepLoop::Leave(int64_t document, Sequence& sequence, int32_t chunk) {
  loaded_.batch->Leave(sequence);
  scheduler_.Release({document, chunk});
}

void StepLoop::Abandon(int64_t document, DocumentJob& job) {
  scheduler_.Cancel(document);
  job.Abandon([&](Sequence& sequence, int32_t chunk) { Leave(document, sequence, chunk); });
}

std::unique_ptr<DocumentJob> StepLoop::Remove(Jobs::iterator at) {
  deadlines_.erase({at->second->deadline(), at->first});
  begun_.erase(at->first);
  active_.erase(at->first);
  queue_.StopWaiting(at->first);
  std::unique_ptr<DocumentJob> job = std::move(at->second);
  jobs_.erase(at);
  return job;
}

void StepLoop::Drop(Jobs::iterator at, const absl::Status& status) {
  Abandon(at->first, *at->second);
  std::unique_ptr<DocumentJob> job = Remove(at);
  Publish();  // before the listener is told, who may look
  Fail(std::move(job), status);
}

void StepLoop::Finish(std::unique_ptr<DocumentJob> job) {
  workers_.Post([job = std::shared_ptr<DocumentJob>(std::move(job)), now = absl::Now()] { job->Finish(now); });
}

void StepLoop::Fail(std::unique_ptr<DocumentJob> job, const absl::Status& status) {
  workers_.Post([job = std::shared_ptr<DocumentJob>(std::move(job)), status] { job->Fail(status); });
}

void StepLoop::Fail(std::shared_ptr<TranslationListener> listener, const absl::Status& status) {
  workers_.Post([listener = std::move(listener), status] { listener->OnDone(status); });
}

// The device has failed: what was on it is lost, and with it every translation under way. Those still waiting lose
// nothing and go on waiting for the device to be opened anew: the same one, or none.
void StepLoop::Recover(const absl::Status& failure) {
  {
    std::lock_guard lock(mutex_);
    status_.state = EngineState::kRecovering;
  }
  StopWaitingForMemory();
  std::vector<std::unique_ptr<DocumentJob>> lost;
  while (!begun_.empty()) {
    const auto at = jobs_.find(*begun_.begin());
    Abandon(at->first, *at->second);
    lost.push_back(Remove(at));
  }
  const absl::Status opened = loaded_.Reopen(options_);
  if (opened.ok()) {
    Publish();
  } else {
    const char* const remedy = absl::IsFailedPrecondition(opened) ? "" : "; restart the server";  // else it has its own
    const absl::Status dead = absl::UnavailableError(
        absl::StrCat(failure.message(), "; it could not be started again: ", opened.message(), remedy));
    for (Arrival& arrival : queue_.End(dead)) Fail(std::move(arrival.job), dead);
    std::lock_guard lock(mutex_);
    status_ = {.state = EngineState::kDead};
  }
  for (std::unique_ptr<DocumentJob>& job : lost) Fail(std::move(job), failure);
}

// From here on nothing is taken: what a worker still cuts fails there.
void StepLoop::End() {
  turn_began_ = 0;
  StopWaitingForMemory();
  for (Arrival& arrival : queue_.End(absl::CancelledError("the engine is shutting down"))) {
    Fail(std::move(arrival.job), queue_.ended());
  }
  while (!jobs_.empty()) {
    const auto at = jobs_.begin();
    if (loaded_.batch != nullptr) Abandon(at->first, *at->second);
    Fail(Remove(at), queue_.ended());
  }
}

}  // namespace salient
