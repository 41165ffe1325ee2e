#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/backend/backend.h"
#include "engine/base/workers.h"
#include "engine/decode/batch.h"
#include "engine/device.h"
#include "engine/document/job.h"
#include "engine/model/model.h"
#include "engine/options/resolve.h"
#include "engine/schedule/scheduler.h"
#include "engine/text/tokenizer.h"

namespace salient {
namespace {

// While nobody waits for an encoding, it is looked up from only to see cancellations and deadlines.
constexpr absl::Duration kUnhurriedSlice = absl::Milliseconds(100);

// What callers leave for the step loop, and what wakes it. Outlives the engine for late Cancels.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable condition;
  bool rung = false;
  std::vector<int64_t> cancelled;

  void Ring() {
    {
      std::lock_guard lock(mutex);
      rung = true;
    }
    condition.notify_all();
  }
  void Cancel(int64_t document) {
    {
      std::lock_guard lock(mutex);
      rung = true;
      cancelled.push_back(document);
    }
    condition.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex);
    condition.wait(lock, [this] { return rung; });
    rung = false;
  }
  std::vector<int64_t> TakeCancelled() {
    std::lock_guard lock(mutex);
    return std::exchange(cancelled, {});
  }
};

class Ticket : public TranslationTicket {
 public:
  Ticket(int64_t document, std::shared_ptr<Mailbox> mailbox) : document_(document), mailbox_(std::move(mailbox)) {}
  void Cancel() override {
    if (!done_.exchange(true)) mailbox_->Cancel(document_);
  }

 private:
  const int64_t document_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::atomic<bool> done_ = false;
};

class StepLoopEngine : public Engine {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Make(const EngineOptions& options, EngineObserver* observer);
  ~StepLoopEngine() override;

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                            std::shared_ptr<TranslationListener> listener) override;
  const ModelInfo& info() const override { return info_; }
  EngineStatus status() const override;

 private:
  using Jobs = std::map<int64_t, std::unique_ptr<DocumentJob>>;
  // A document of which no chunk was begun.
  struct Waiting {
    absl::Time since;
    int64_t bytes = 0;
  };
  struct Arrival {
    int64_t document = 0;
    std::unique_ptr<DocumentJob> job;
  };

  StepLoopEngine(const EngineOptions& options, EngineObserver* observer)
      : options_(options), observer_(observer), device_(options.device) {}

  // In a worker.
  void Prepare(int64_t document, TranslationRequest request, ResolvedOptions resolved, absl::Time submitted_at,
               std::shared_ptr<TranslationListener> listener);
  absl::StatusOr<std::unique_ptr<DocumentJob>> MakeJob(TranslationRequest request, ResolvedOptions resolved,
                                                       absl::Time submitted_at,
                                                       std::shared_ptr<TranslationListener> listener) const;

  // The step loop's.
  void Loop();
  void End();
  void TakeInbox();
  void DropCancelled();
  void Drop(Jobs::iterator at, absl::Status status);
  void Admit();
  void Encode();
  void ScheduleChunks();
  void MakeRoom();
  void Step();
  void Collect();
  void Publish();
  absl::Status OpenDevice();
  void Recover(const absl::Status& failure);
  std::unique_ptr<DocumentJob> Remove(Jobs::iterator at);
  Sequence& SequenceOf(const Admission& name) { return jobs_.at(name.document)->sequence(name.chunk); }
  void Leave(int64_t document, Sequence& sequence, int32_t chunk);

  void StopWaiting(int64_t document);
  absl::Status CheckRoom(int64_t bytes) const;  // with mutex_ held

  const EngineOptions options_;
  EngineObserver* const observer_;
  std::string device_;  // once it was opened, the one it was
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  Tokenizers tokenizers_;
  ModelInfo info_;
  BatchOptions batch_options_;
  std::unique_ptr<Batch> batch_;  // null once a failed device could not be opened again
  int32_t self_pages_ = 0;
  std::unique_ptr<Scheduler> scheduler_;

  // The step loop's own.
  Jobs jobs_;
  std::map<int64_t, DocumentJob*> active_;              // those of jobs_ that have begun
  std::set<std::pair<absl::Time, int64_t>> deadlines_;  // of jobs_, but for those that have none
  int32_t rows_ = 0;                                    // in the last step
  absl::Time pass_began_;

  // Shared with callers and workers.
  const std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  std::atomic<int64_t> turn_began_ = 0;  // nanoseconds; 0: the loop waits for work
  mutable std::mutex mutex_;
  int64_t next_document_ = 0;
  std::map<int64_t, Waiting> waiting_;  // oldest first
  int64_t bytes_waiting_ = 0;
  std::vector<Arrival> inbox_;
  EngineStatus status_;
  absl::Status ended_;  // why no document is taken any more

  bool stopping_ = false;
  std::unique_ptr<Workers> workers_;
  std::thread thread_;
};

// The backend, the model on it and the memory for keys: at the start, and anew when a device has failed.
absl::Status StepLoopEngine::OpenDevice() {
  absl::StatusOr<std::unique_ptr<Backend>> backend = OpenBackend(options_, device_, &device_);
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(options_.model_folder, *backend_);
  if (!model.ok()) return model.status();
  model_ = *std::move(model);
  batch_options_ = {.max_rows = std::max(options_.max_rows, 1),
                    .encode_tokens = std::max(options_.encode_tokens, model_->config.chunk_tokens),
                    .kv_bytes = options_.kv_bytes,
                    .kv_type = options_.kv_type};
  if (const absl::Status fits = CheckMemory(options_, backend_->memory()); !fits.ok()) return fits;
  batch_ = std::make_unique<Batch>(*model_, *backend_, batch_options_);
  return backend_->status();
}

absl::StatusOr<std::unique_ptr<Engine>> StepLoopEngine::Make(const EngineOptions& options, EngineObserver* observer) {
  std::unique_ptr<StepLoopEngine> engine(new StepLoopEngine(options, observer));
  if (const absl::Status opened = engine->OpenDevice(); !opened.ok()) return opened;
  const ModelConfig& config = engine->model_->config;
  absl::StatusOr<Tokenizers> tokenizers =
      LoadTokenizers(options.model_folder,
                     {.source_size = config.vocab_size, .target_size = config.vocab_size, .special = config.tokens});
  if (!tokenizers.ok()) return tokenizers.status();
  engine->tokenizers_ = *std::move(tokenizers);

  ModelInfo& info = engine->info_;
  info.config = config;
  info.policies = PoliciesOf(config);
  info.parameters = engine->model_->parameters;
  info.device = engine->backend_->Name();
  info.description = Description(TextOf(options.model_folder + "/README.md"));
  if (const std::string points = TextOf(options.model_folder + "/operating_points.json"); !points.empty()) {
    absl::StatusOr<std::vector<OperatingPoint>> parsed = ParseOperatingPoints(points, config);
    if (!parsed.ok()) return parsed.status();
    info.operating_points = *std::move(parsed);
  }

  const BatchOptions& batch = engine->batch_options_;
  engine->self_pages_ = engine->batch_->self_pages();
  engine->scheduler_ = std::make_unique<Scheduler>(Scheduler::Limits{.rows = batch.max_rows,
                                                                     .self_pages = engine->batch_->self_pages(),
                                                                     .cross_pages = engine->batch_->cross_pages(),
                                                                     .encode_tokens = batch.encode_tokens,
                                                                     .encode_chunks = batch.encode_chunks});
  engine->workers_ = std::make_unique<Workers>(std::max(options.workers, 1));
  engine->Publish();
  engine->thread_ = std::thread([raw = engine.get()] { raw->Loop(); });
  return engine;
}

StepLoopEngine::~StepLoopEngine() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  mailbox_->Ring();
  if (thread_.joinable()) thread_.join();
  workers_.reset();  // which tell the last listeners
}

EngineStatus StepLoopEngine::status() const {
  const int64_t turn_began = turn_began_.load();
  std::lock_guard lock(mutex_);
  EngineStatus status = status_;
  status.documents_waiting = static_cast<int32_t>(waiting_.size());
  status.bytes_waiting = bytes_waiting_;
  const absl::Time now = absl::Now();
  if (!waiting_.empty()) status.oldest_waiting_seconds = absl::ToDoubleSeconds(now - waiting_.begin()->second.since);
  if (turn_began != 0) status.turn_seconds = absl::ToDoubleSeconds(now - absl::FromUnixNanos(turn_began));
  return status;
}

// ---- Documents come in ----

absl::Status StepLoopEngine::CheckRoom(int64_t bytes) const {
  if (!ended_.ok()) return ended_;
  const auto waiting = static_cast<int64_t>(waiting_.size());
  if (waiting >= options_.max_queued_documents) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue is full: ", waiting, " documents are waiting; try again later"));
  }
  if (waiting > 0 && bytes_waiting_ + bytes > options_.max_queued_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue is full: ", bytes_waiting_, " bytes of documents are waiting; try again later"));
  }
  if (waiting > 0 && status_.tokens_waiting >= options_.max_queued_tokens) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the queue is full: ", status_.tokens_waiting, " tokens are waiting; try again later"));
  }
  return absl::OkStatus();
}

// Only what is cheap happens here: the text is cut by a worker, once there is room for it.
absl::StatusOr<std::shared_ptr<TranslationTicket>> StepLoopEngine::Submit(
    TranslationRequest request, std::shared_ptr<TranslationListener> listener) {
  absl::StatusOr<ResolvedOptions> resolved = DocumentJob::Check(request, info_.config, options_.max_document_bytes);
  if (!resolved.ok()) return resolved.status();
  const absl::Time now = absl::Now();
  const auto bytes = static_cast<int64_t>(request.text.size());
  int64_t document = 0;
  {
    std::lock_guard lock(mutex_);
    if (absl::Status room = CheckRoom(bytes); !room.ok()) return room;
    document = next_document_++;
    waiting_[document] = {now, bytes};
    bytes_waiting_ += bytes;
  }
  workers_->Post([this, document, now, request = std::move(request), resolved = *std::move(resolved),
                  listener = std::move(listener)]() mutable {
    Prepare(document, std::move(request), std::move(resolved), now, std::move(listener));
  });
  return std::make_shared<Ticket>(document, mailbox_);
}

absl::StatusOr<std::unique_ptr<DocumentJob>> StepLoopEngine::MakeJob(
    TranslationRequest request, ResolvedOptions resolved, absl::Time submitted_at,
    std::shared_ptr<TranslationListener> listener) const {
  absl::StatusOr<std::unique_ptr<DocumentJob>> job = DocumentJob::Prepare(
      std::move(request), std::move(resolved), submitted_at, info_.config, tokenizers_, *workers_, std::move(listener));
  if (!job.ok()) return job.status();
  for (const Demand& demand : (*job)->Demands()) {
    if (scheduler_->CouldFit(demand)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the document needs ", demand.rows, " rows and ", demand.self_pages,
                     " pages of keys at once; the engine has ", options_.max_rows, " and ", self_pages_,
                     ": ask for a smaller search.beam, depth.draft_tokens or search.max_length_ratio, or start the "
                     "server with more --kv-memory"));
  }
  return job;
}

void StepLoopEngine::Prepare(int64_t document, TranslationRequest request, ResolvedOptions resolved,
                             absl::Time submitted_at, std::shared_ptr<TranslationListener> listener) {
  const bool late = request.deadline <= absl::Now();
  absl::StatusOr<std::unique_ptr<DocumentJob>> job =
      late ? absl::DeadlineExceededError("the deadline passed while the document waited in the queue")
           : MakeJob(std::move(request), std::move(resolved), submitted_at, listener);
  absl::Status failure = job.status();
  {
    std::lock_guard lock(mutex_);
    if (failure.ok()) failure = ended_;
    if (failure.ok()) inbox_.push_back({document, *std::move(job)});
  }
  if (failure.ok()) return mailbox_->Ring();
  StopWaiting(document);
  listener->OnDone(failure);
}

void StepLoopEngine::StopWaiting(int64_t document) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(document);
  if (found == waiting_.end()) return;
  bytes_waiting_ -= found->second.bytes;
  waiting_.erase(found);
}

void StepLoopEngine::TakeInbox() {
  std::vector<Arrival> arrived;
  {
    std::lock_guard lock(mutex_);
    arrived.swap(inbox_);
  }
  for (auto& [document, job] : arrived) {
    if (job->chunks() == 0) {  // nothing to translate
      StopWaiting(document);
      job->Finish(absl::Now());
      continue;
    }
    scheduler_->Enqueue(document, job->Demands(), job->flow());
    if (job->deadline() != absl::InfiniteFuture()) deadlines_.emplace(job->deadline(), document);
    job->ReportProgress();
    jobs_.emplace(document, std::move(job));
  }
}

// ---- The step loop ----

// One turn: documents come in, leave if nobody wants them any more, join, and take one step together.
void StepLoopEngine::Loop() {
  while (true) {
    turn_began_ = absl::ToUnixNanos(absl::Now());
    {
      std::lock_guard lock(mutex_);
      if (stopping_) break;
    }
    TakeInbox();
    DropCancelled();
    Admit();
    Encode();
    ScheduleChunks();
    MakeRoom();
    Step();
    if (const absl::Status status = backend_->status(); !status.ok()) Recover(status);
    if (batch_ == nullptr) break;
    Collect();
    if (jobs_.empty()) {
      turn_began_ = 0;
      mailbox_->Wait();
    }
  }
  End();
}

// From here on nothing is taken: what a worker still prepares fails there.
void StepLoopEngine::End() {
  turn_began_ = 0;
  std::vector<Arrival> left;
  absl::Status reason;
  {
    std::lock_guard lock(mutex_);
    if (ended_.ok()) ended_ = absl::CancelledError("the engine is shutting down");
    reason = ended_;
    left.swap(inbox_);
    waiting_.clear();
    bytes_waiting_ = 0;
  }
  for (const Arrival& arrival : left) arrival.job->Fail(reason);
  for (auto& [document, job] : jobs_) {
    job->Abandon([&, name = document](Sequence& sequence, int32_t chunk) {
      if (batch_ != nullptr) Leave(name, sequence, chunk);
    });
    job->Fail(reason);
  }
  active_.clear();
  jobs_.clear();
}

// The device has failed: what was on it is lost, and with it every translation under way. Those still waiting lose
// nothing and go on waiting for the device to be opened anew: the same one, or none.
void StepLoopEngine::Recover(const absl::Status& failure) {
  {
    std::lock_guard lock(mutex_);
    status_.state = EngineState::kRecovering;
  }
  std::vector<std::unique_ptr<DocumentJob>> lost;
  while (!active_.empty()) {
    const auto at = jobs_.find(active_.begin()->first);
    scheduler_->Cancel(at->first);
    at->second->Abandon([&](Sequence& sequence, int32_t chunk) { Leave(at->first, sequence, chunk); });
    lost.push_back(Remove(at));
  }
  batch_.reset();
  model_.reset();
  backend_.reset();
  const absl::Status opened = OpenDevice();
  if (opened.ok()) {
    Publish();
  } else {
    batch_.reset();
    std::lock_guard lock(mutex_);
    ended_ = absl::UnavailableError(
        absl::StrCat(failure.message(), "; it could not be started again: ", opened.message(), "; restart the server"));
    status_ = {.state = EngineState::kDead};
  }
  for (const std::unique_ptr<DocumentJob>& job : lost) job->Fail(failure);
}

std::unique_ptr<DocumentJob> StepLoopEngine::Remove(Jobs::iterator at) {
  deadlines_.erase({at->second->deadline(), at->first});
  active_.erase(at->first);
  StopWaiting(at->first);
  std::unique_ptr<DocumentJob> job = std::move(at->second);
  jobs_.erase(at);
  return job;
}

void StepLoopEngine::Leave(int64_t document, Sequence& sequence, int32_t chunk) {
  batch_->Leave(sequence);
  scheduler_->Release({document, chunk});
}

void StepLoopEngine::Drop(Jobs::iterator at, absl::Status status) {
  scheduler_->Cancel(at->first);
  at->second->Abandon([&](Sequence& sequence, int32_t chunk) { Leave(at->first, sequence, chunk); });
  const std::unique_ptr<DocumentJob> job = Remove(at);
  Publish();  // before the listener is told, who may look
  job->Fail(std::move(status));
}

void StepLoopEngine::DropCancelled() {
  std::vector<int64_t> unknown;
  for (const int64_t document : mailbox_->TakeCancelled()) {
    const auto at = jobs_.find(document);
    if (at != jobs_.end()) {
      Drop(at, absl::CancelledError("the request was cancelled"));
    } else {
      unknown.push_back(document);
    }
  }
  for (const int64_t document : unknown) {  // finished, or still being prepared
    std::unique_lock lock(mutex_);
    if (!waiting_.contains(document)) continue;
    lock.unlock();
    std::lock_guard again(mailbox_->mutex);
    mailbox_->cancelled.push_back(document);
  }
  const absl::Time now = absl::Now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto at = jobs_.find(deadlines_.begin()->second);
    Drop(at, absl::DeadlineExceededError(at->second->started()
                                             ? "the deadline passed while the document was translated"
                                             : "the deadline passed while the document waited in the queue"));
  }
}

void StepLoopEngine::Admit() {
  if (batch_->encoding()) return;
  scheduler_->BeginPass();
  std::vector<Sequence*> joining;
  const absl::Time now = absl::Now();
  while (const std::optional<Admission> admission = scheduler_->Admit()) {
    DocumentJob& job = *jobs_.at(admission->document);
    if (active_.emplace(admission->document, &job).second) StopWaiting(admission->document);
    joining.push_back(
        &job.Start(admission->chunk, *model_, *backend_, batch_->self_store(), batch_->cross_store(), now));
  }
  pass_began_ = now;
  batch_->Join(joining);
}

// A slice of the encoding under way, short while others wait for their next step. Where a device encodes beside the
// steps, a pass takes the time from its beginning to the turn that finds it done.
void StepLoopEngine::Encode() {
  if (!batch_->encoding()) return;
  const bool others_wait = batch_->decoding();
  std::vector<DocumentJob*> owners;
  for (const auto& [document, job] : active_) {
    if (job->encoding()) owners.push_back(job);
  }
  const absl::Time start = absl::Now();
  batch_->Encode(others_wait ? options_.encode_slice : kUnhurriedSlice);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const bool beside = batch_->encodes_beside_steps();
  const double worked = !beside ? seconds : batch_->encoding() ? 0 : absl::ToDoubleSeconds(absl::Now() - pass_began_);
  for (DocumentJob* job : owners) job->AddEncodeTime(worked);
  if (!batch_->encoding()) {
    for (const Admission& name : scheduler_->Encoding()) scheduler_->MarkEncoded(name, SequenceOf(name).deepest());
  }
  if (others_wait && observer_ != nullptr) observer_->OnStall(seconds);
}

void StepLoopEngine::ScheduleChunks() {
  while (const std::optional<Admission> next = scheduler_->ScheduleNext()) {
    batch_->Schedule(SequenceOf(*next));
    jobs_.at(next->document)->MarkDecoding(absl::Now());
  }
}

// Whatever is decoded in the next step has room for its keys, if need be at the cost of the youngest.
void StepLoopEngine::MakeRoom() {
  std::vector<Admission> growing = scheduler_->Running();
  for (size_t i = 0; i < growing.size(); ++i) {
    const int32_t pages = SequenceOf(growing[i]).SelfPagesFor(batch_->most_steps());
    while (i < growing.size() && !scheduler_->Grow(growing[i], pages)) {
      const Admission youngest = scheduler_->PreemptYoungest();
      batch_->Leave(SequenceOf(youngest));
      jobs_.at(youngest.document)->Preempt(youngest.chunk);
      growing.pop_back();
      if (observer_ != nullptr) observer_->OnPreempt();
    }
  }
}

void StepLoopEngine::Step() {
  std::vector<Sequence*> first;  // of each document that takes part
  for (const auto& [document, job] : active_) {
    if (Sequence* const sequence = job->FirstDecoding()) first.push_back(sequence);
  }
  for (Sequence* sequence : first) sequence->meter().AddStep(static_cast<int32_t>(first.size()));
  const absl::Time start = absl::Now();
  rows_ = batch_->Step();
  if (rows_ == 0) return;
  if (observer_ != nullptr) observer_->OnStep(rows_, absl::ToDoubleSeconds(absl::Now() - start));
}

// The status is told before the listeners are, so that who has just got a reply does not find its document running.
void StepLoopEngine::Collect() {
  std::vector<std::unique_ptr<DocumentJob>> finished;
  std::vector<std::pair<int64_t, absl::Status>> sick;
  for (auto at = active_.begin(); at != active_.end();) {
    const auto [document, job] = *at++;
    job->ReportProgress();
    job->Collect([&, name = document](Sequence& sequence, int32_t chunk) { Leave(name, sequence, chunk); });
    if (absl::Status health = job->health(); !health.ok()) sick.emplace_back(document, std::move(health));
    if (job->done()) finished.push_back(Remove(jobs_.find(document)));
  }
  for (auto& [document, health] : sick) Drop(jobs_.find(document), std::move(health));
  Publish();
  for (const std::unique_ptr<DocumentJob>& job : finished) job->Finish(absl::Now());
}

void StepLoopEngine::Publish() {
  EngineStatus status;
  status.documents_running = static_cast<int32_t>(active_.size());
  status.tokens_waiting = scheduler_->tokens_waiting();
  status.rows = rows_;
  const auto used = [](KvStore& store, int32_t pages) {
    return static_cast<int64_t>(pages - store.free_pages()) * static_cast<int64_t>(store.layout().page_bytes());
  };
  status.kv_bytes_used =
      used(batch_->self_store(), batch_->self_pages()) + used(batch_->cross_store(), batch_->cross_pages());
  status.kv_bytes_total = options_.kv_bytes;
  std::lock_guard lock(mutex_);
  status_ = status;
}

// Waits for a translation that another thread reports.
class Waiter : public TranslationListener {
 public:
  void OnDone(absl::StatusOr<TranslationResult> result) override {
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    done_.notify_one();
  }
  absl::StatusOr<TranslationResult> Wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return result_.has_value(); });
    return *std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  std::optional<absl::StatusOr<TranslationResult>> result_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(const EngineOptions& options, EngineObserver* observer) {
  return StepLoopEngine::Make(options, observer);
}

absl::StatusOr<TranslationResult> Engine::Translate(TranslationRequest request) {
  auto waiter = std::make_shared<Waiter>();
  absl::StatusOr<std::shared_ptr<TranslationTicket>> ticket = Submit(std::move(request), waiter);
  if (!ticket.ok()) return ticket.status();
  return waiter->Wait();
}

}  // namespace salient
