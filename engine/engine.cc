#include "engine/engine.h"

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/backend/backend.h"
#include "engine/decode/batch.h"
#include "engine/document/job.h"
#include "engine/model/model.h"
#include "engine/options/resolve.h"
#include "engine/schedule/scheduler.h"
#include "engine/text/tokenizer.h"
#include "engine/text/vocabulary.h"

namespace salient {
namespace {

absl::StatusOr<std::unique_ptr<Backend>> MakeBackend(const EngineOptions& options) {
  const auto cpu = [&] { return MakeCpuBackend({.threads = options.threads, .compute = options.compute}); };
  if (options.device == "reference") return MakeReferenceBackend();
  if (options.device == "cpu") return cpu();
  if (options.device != "auto" && options.device != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat("device is \"", options.device, "\"; it must be auto, cpu or cuda"));
  }
  absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend({.compute = options.compute});
  if (cuda.ok()) return cuda;
  if (options.device == "auto") return cpu();
  return absl::Status(cuda.status().code(),
                      absl::StrCat("device is cuda: ", cuda.status().message(), "; use auto or cpu"));
}

// While nobody waits for an encoding, it is looked up from only to see cancellations and deadlines.
constexpr absl::Duration kUnhurriedSlice = absl::Milliseconds(100);

// What keys and values get is taken at once: better refused than half taken.
absl::Status CheckMemory(const EngineOptions& options, const DeviceMemory& memory) {
  const size_t free = memory.free_bytes();
  if (static_cast<size_t>(options.kv_bytes) <= free) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("--kv-memory asks for ", options.kv_bytes,
                                                   " bytes; beside the model the ", "GPU has ", free,
                                                   " left: ask for less, or end what else uses the GPU"));
}

// A file's text; empty where there is none.
std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The first paragraph of a model card that is not a heading.
std::string Description(const std::string& card) {
  std::istringstream lines(card);
  std::string line, paragraph;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] == '#') {
      if (!paragraph.empty()) break;
      continue;
    }
    absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
  }
  return paragraph;
}

class Ticket : public TranslationTicket {
 public:
  Ticket(std::shared_ptr<std::atomic<bool>> cancelled, std::function<void()> wake)
      : cancelled_(std::move(cancelled)), wake_(std::move(wake)) {}
  void Cancel() override {
    cancelled_->store(true);
    wake_();
  }

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
  std::function<void()> wake_;
};

// What a ticket needs to wake the step loop, and outlives the engine for late Cancels.
struct Bell {
  std::mutex mutex;
  std::condition_variable condition;
  bool rung = false;

  void Ring() {
    {
      std::lock_guard lock(mutex);
      rung = true;
    }
    condition.notify_all();
  }
  void WaitUntil(absl::Time deadline) {
    std::unique_lock lock(mutex);
    const auto ready = [this] { return rung; };
    if (deadline == absl::InfiniteFuture()) {
      condition.wait(lock, ready);
    } else {
      condition.wait_until(lock, absl::ToChronoTime(deadline), ready);
    }
    rung = false;
  }
};

class StepLoopEngine : public Engine {
 public:
  static absl::StatusOr<std::unique_ptr<Engine>> Make(const EngineOptions& options, EngineObserver* observer);
  ~StepLoopEngine() override;

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                            std::shared_ptr<TranslationListener> listener) override;
  const ModelInfo& info() const override { return info_; }
  EngineStatus status() const override {
    std::lock_guard lock(mutex_);
    EngineStatus status = status_;
    status.documents_waiting += static_cast<int32_t>(inbox_.size());
    return status;
  }

 private:
  StepLoopEngine(const EngineOptions& options, EngineObserver* observer) : options_(options), observer_(observer) {}

  void Loop();
  void TakeInbox();
  void DropCancelled();
  void Admit();
  void Encode();
  void ScheduleChunks();
  void MakeRoom();
  void Step();
  void Collect();
  void Publish();
  absl::Status OpenDevice();
  void Recover(const absl::Status& failure);
  absl::Time NextDeadline() const;
  Sequence& SequenceOf(const Admission& name) { return jobs_.at(name.document)->sequence(name.chunk); }
  void Leave(int64_t document, Sequence& sequence, int32_t chunk);

  const EngineOptions options_;
  EngineObserver* const observer_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ModelInfo info_;
  BatchOptions batch_options_;
  std::unique_ptr<Batch> batch_;  // null once a failed device could not be opened again
  int32_t self_pages_ = 0;
  std::unique_ptr<Scheduler> scheduler_;

  // The step loop's own.
  std::map<int64_t, std::unique_ptr<DocumentJob>> jobs_;
  int64_t next_document_ = 0;
  int32_t rows_ = 0;  // in the last step
  absl::Time pass_began_;

  // Shared with callers.
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<DocumentJob>> inbox_;
  EngineStatus status_;
  absl::Status broken_;  // why nothing is translated any more
  bool stopping_ = false;
  std::thread thread_;
};

// The backend, the model on it and the memory for keys: at the start, and anew when a device has failed.
absl::Status StepLoopEngine::OpenDevice() {
  absl::StatusOr<std::unique_ptr<Backend>> backend = MakeBackend(options_);
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(options_.model_folder, *backend_);
  if (!model.ok()) return model.status();
  model_ = *std::move(model);
  batch_options_ = {.max_rows = std::max(options_.max_rows, 1),
                    .encode_tokens = std::max(options_.encode_tokens, model_->config.chunk_tokens),
                    .kv_bytes = options_.kv_bytes};
  if (const absl::Status fits = CheckMemory(options_, backend_->memory()); !fits.ok()) return fits;
  batch_ = std::make_unique<Batch>(*model_, *backend_, batch_options_);
  return backend_->status();
}

absl::StatusOr<std::unique_ptr<Engine>> StepLoopEngine::Make(const EngineOptions& options, EngineObserver* observer) {
  std::unique_ptr<StepLoopEngine> engine(new StepLoopEngine(options, observer));
  if (const absl::Status opened = engine->OpenDevice(); !opened.ok()) return opened;
  const ModelConfig& config = engine->model_->config;
  absl::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = LoadTokenizer(options.model_folder, config);
  if (!tokenizer.ok()) return tokenizer.status();
  engine->tokenizer_ = *std::move(tokenizer);

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
  engine->Publish();
  engine->thread_ = std::thread([raw = engine.get()] { raw->Loop(); });
  return engine;
}

StepLoopEngine::~StepLoopEngine() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  bell_->Ring();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> StepLoopEngine::Submit(
    TranslationRequest request, std::shared_ptr<TranslationListener> listener) {
  absl::StatusOr<std::unique_ptr<DocumentJob>> job = DocumentJob::Prepare(
      std::move(request), info_.config, *tokenizer_, options_.max_document_bytes, std::move(listener));
  if (!job.ok()) return job.status();
  for (const Demand& demand : (*job)->Demands()) {
    if (scheduler_->CouldFit(demand)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the document needs ", demand.rows, " rows and ", demand.self_pages,
                     " pages of keys at once; the engine has ", options_.max_rows, " and ", self_pages_,
                     ": ask for a smaller search.beam, depth.draft_tokens or search.max_length_ratio, or start the "
                     "server with more --kv-memory"));
  }
  {
    std::lock_guard lock(mutex_);
    if (!broken_.ok()) return broken_;
  }
  auto ticket = std::make_shared<Ticket>((*job)->cancelled, [bell = bell_] { bell->Ring(); });
  {
    std::lock_guard lock(mutex_);
    const int32_t waiting = static_cast<int32_t>(inbox_.size()) + status_.documents_waiting;
    if (waiting >= options_.max_queued_documents) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the queue is full: ", waiting, " documents are waiting; try again later"));
    }
    inbox_.push_back(*std::move(job));
  }
  bell_->Ring();
  return ticket;
}

// One turn: documents come in, leave if nobody wants them any more, join, and take one step together.
void StepLoopEngine::Loop() {
  while (true) {
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
    if (jobs_.empty()) bell_->WaitUntil(NextDeadline());
  }
  TakeInbox();
  absl::Status reason = absl::CancelledError("the engine is shutting down");
  {
    std::lock_guard lock(mutex_);
    if (!broken_.ok()) reason = broken_;
  }
  for (auto& [document, job] : jobs_) {
    job->Abandon([&, name = document](Sequence& sequence, int32_t chunk) { Leave(name, sequence, chunk); });
    job->Fail(reason);
  }
  jobs_.clear();
}

// The device has failed: what was on it is lost, and with it every translation under way. Those still waiting lose
// nothing and go on waiting for the device to be opened anew.
void StepLoopEngine::Recover(const absl::Status& failure) {
  std::vector<std::unique_ptr<DocumentJob>> lost;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    DocumentJob& job = *at->second;
    if (!job.started()) {
      ++at;
      continue;
    }
    scheduler_->Cancel(at->first);
    job.Abandon([&](Sequence& sequence, int32_t chunk) { Leave(at->first, sequence, chunk); });
    lost.push_back(std::move(at->second));
    at = jobs_.erase(at);
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
    broken_ = absl::UnavailableError(
        absl::StrCat(failure.message(), "; it could not be started again: ", opened.message(), "; restart the server"));
    status_ = {};
  }
  for (const std::unique_ptr<DocumentJob>& job : lost) job->Fail(failure);
}

void StepLoopEngine::TakeInbox() {
  std::vector<std::unique_ptr<DocumentJob>> arrived;
  {
    std::lock_guard lock(mutex_);
    arrived.swap(inbox_);
    status_.documents_waiting += static_cast<int32_t>(arrived.size());
  }
  for (std::unique_ptr<DocumentJob>& job : arrived) {
    scheduler_->Enqueue(next_document_, job->Demands());
    jobs_.emplace(next_document_++, std::move(job));
  }
}

absl::Time StepLoopEngine::NextDeadline() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [document, job] : jobs_) next = std::min(next, job->deadline());
  return next;
}

void StepLoopEngine::Leave(int64_t document, Sequence& sequence, int32_t chunk) {
  batch_->Leave(sequence);
  scheduler_->Release({document, chunk});
}

void StepLoopEngine::DropCancelled() {
  const absl::Time now = absl::Now();
  std::vector<std::pair<std::unique_ptr<DocumentJob>, absl::Status>> dropped;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    DocumentJob& job = *at->second;
    const bool late = job.deadline() <= now;
    if (!late && !job.cancelled->load()) {
      ++at;
      continue;
    }
    scheduler_->Cancel(at->first);
    const bool started = job.started();
    job.Abandon([&](Sequence& sequence, int32_t chunk) { Leave(at->first, sequence, chunk); });
    const absl::Status status =
        late ? absl::DeadlineExceededError(started ? "the deadline passed while the document was translated"
                                                   : "the deadline passed while the document waited in the queue")
             : absl::CancelledError("the request was cancelled");
    dropped.emplace_back(std::move(at->second), status);
    at = jobs_.erase(at);
  }
  if (dropped.empty()) return;
  Publish();
  for (const auto& [job, status] : dropped) job->Fail(status);
}

void StepLoopEngine::Admit() {
  if (batch_->encoding()) return;
  scheduler_->BeginPass();
  std::vector<Sequence*> joining;
  const absl::Time now = absl::Now();
  while (const std::optional<Admission> admission = scheduler_->Admit()) {
    DocumentJob& job = *jobs_.at(admission->document);
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
  for (auto& [document, job] : jobs_) {
    if (job->encoding()) owners.push_back(job.get());
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
  int32_t documents = 0;
  for (auto& [document, job] : jobs_) documents += job->decoding();
  for (auto& [document, job] : jobs_) {
    bool first = true;
    job->ForEachSequence([&](Sequence& sequence) {
      if (!first || !sequence.scheduled()) return;
      sequence.meter().AddStep(documents);
      first = false;
    });
  }
  const absl::Time start = absl::Now();
  rows_ = batch_->Step();
  if (rows_ == 0) return;
  if (observer_ != nullptr) observer_->OnStep(rows_, absl::ToDoubleSeconds(absl::Now() - start));
}

// The status is told before the listeners are, so that who has just got a reply does not find its document running.
void StepLoopEngine::Collect() {
  std::vector<std::unique_ptr<DocumentJob>> finished;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    DocumentJob& job = *at->second;
    job.ReportProgress();
    job.Collect([&](Sequence& sequence, int32_t chunk) { Leave(at->first, sequence, chunk); });
    if (!job.done()) {
      ++at;
      continue;
    }
    finished.push_back(std::move(at->second));
    at = jobs_.erase(at);
  }
  Publish();
  for (const std::unique_ptr<DocumentJob>& job : finished) job->Finish(absl::Now());
}

void StepLoopEngine::Publish() {
  EngineStatus status;
  status.documents_running = static_cast<int32_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) { return entry.second->started(); }));
  status.documents_waiting = scheduler_->untouched();
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
