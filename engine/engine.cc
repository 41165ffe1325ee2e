#include "engine/engine.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/files.h"
#include "engine/base/workers.h"
#include "engine/document/job.h"
#include "engine/loaded_model.h"
#include "engine/mailbox.h"
#include "engine/model_card.h"
#include "engine/options/resolve.h"
#include "engine/step_loop.h"
#include "engine/submission_queue.h"
#include "engine/text/copier.h"
#include "engine/text/tokenizer.h"

namespace salient {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;  // of a model's card, and of its operating points

absl::StatusOr<Tokenizers> OpenTokenizers(const std::string& folder, const ModelConfig& config) {
  TokenizerSpec spec{config.source_vocab_size, config.vocab_size, config.tokens, {}, {}};
  for (const auto& [language, token] : config.languages.tokens) {
    if (config.source_has_languages()) spec.source_languages.push_back(token);
    if (config.target_has_languages()) spec.target_languages.push_back(token);
  }
  absl::StatusOr<Tokenizers> tokenizers = LoadTokenizers(folder, spec);
  if (tokenizers.ok() && config.byte_characters.has_value()) {
    tokenizers->copier = std::make_shared<Copier>(*tokenizers, config.tokens, *config.byte_characters);
  }
  return tokenizers;
}

absl::StatusOr<ModelInfo> Describe(const std::string& folder, const LoadedModel& loaded) {
  ModelInfo info;
  info.config = loaded.model->config;
  info.policies = PoliciesOf(info.config);
  info.parameters = loaded.model->parameters;
  info.device = loaded.backend->Name();
  info.description = Description(ReadRegular(folder + "/README.md", kMaxFileBytes).value_or(""));
  const absl::StatusOr<std::string> points = ReadRegular(folder + "/operating_points.json", kMaxFileBytes);
  if (absl::IsNotFound(points.status())) return info;
  if (!points.ok()) return absl::InvalidArgumentError(points.status().message());
  absl::StatusOr<std::vector<OperatingPoint>> parsed = ParseOperatingPoints(*points, info.config);
  if (!parsed.ok()) return parsed.status();
  info.operating_points = *std::move(parsed);
  return info;
}

class StepLoopEngine : public Engine {
 public:
  StepLoopEngine(const EngineOptions& options, EngineObserver* observer, LoadedModel loaded, Tokenizers tokenizers,
                 ModelInfo info, std::shared_ptr<Mailbox> mailbox)
      : options_(options),
        info_(std::move(info)),
        tokenizers_(std::move(tokenizers)),
        mailbox_(std::move(mailbox)),
        queue_(options),
        workers_(std::max(options.workers, 1)),
        cutting_(workers_),
        loop_(std::make_unique<StepLoop>(options, observer, std::move(loaded), queue_, mailbox_, workers_)) {}
  // The loop stops first. Then the workers finish what they have begun, which needs the loop's model, and tell the last
  // listeners.
  ~StepLoopEngine() override {
    loop_->Stop();
    workers_.Stop();
  }

  absl::StatusOr<std::shared_ptr<TranslationTicket>> Submit(TranslationRequest request,
                                                            std::shared_ptr<TranslationListener> listener) override;
  const ModelInfo& info() const override { return info_; }
  EngineStatus status() const override;

 private:
  // In a worker.
  void Prepare(int64_t document);
  absl::StatusOr<Arrival> Cut(int64_t document, Submission submission);
  absl::Status StillWanted(int64_t document, absl::Time deadline) const;

  const EngineOptions options_;
  const ModelInfo info_;
  const Tokenizers tokenizers_;
  const std::shared_ptr<Mailbox> mailbox_;
  SubmissionQueue queue_;
  Workers workers_;
  NamedLanes cutting_;
  std::unique_ptr<StepLoop> loop_;
};

EngineStatus StepLoopEngine::status() const {
  EngineStatus status = loop_->status();
  queue_.Describe(absl::Now(), status);
  return status;
}

// A flow's documents are cut one after another. So however many it has, the replies under way, and the documents of
// others, wait for a worker no longer than one of them takes.
std::string CuttingLane(const TranslationRequest& request) {
  return absl::StrCat(request.bulk ? "bulk" : "interactive", " ", request.client);
}

// Only what is cheap happens here: the text is cut by a worker, once there is room for it.
absl::StatusOr<std::shared_ptr<TranslationTicket>> StepLoopEngine::Submit(
    TranslationRequest request, std::shared_ptr<TranslationListener> listener) {
  absl::StatusOr<ResolvedOptions> resolved = DocumentJob::Check(request, info_.config, options_.max_document_bytes);
  if (!resolved.ok()) return resolved.status();
  const std::string lane = CuttingLane(request);
  const bool has_deadline = request.deadline != absl::InfiniteFuture();
  const absl::StatusOr<int64_t> document =
      queue_.Enter({std::move(request), *std::move(resolved), absl::Now(), std::move(listener)});
  if (!document.ok()) return document.status();
  cutting_.Post(lane, [this, document = *document] { Prepare(document); });
  if (has_deadline) mailbox_->Ring();  // the loop may sleep beyond it
  return std::make_shared<Ticket>(*document, mailbox_);
}

// The listener of a document that is withdrawn meanwhile is told by the step loop.
void StepLoopEngine::Prepare(int64_t document) {
  std::optional<Submission> submission = queue_.TakeToCut(document);
  if (!submission.has_value()) return;
  const std::shared_ptr<TranslationListener> listener = submission->listener;
  absl::StatusOr<Arrival> arrival = Cut(document, *std::move(submission));
  const absl::Status taken = arrival.ok() ? queue_.Deliver(*arrival) : arrival.status();
  if (taken.ok()) return mailbox_->Ring();
  if (queue_.StopWaiting(document)) listener->OnDone(taken);
}

absl::StatusOr<Arrival> StepLoopEngine::Cut(int64_t document, Submission submission) {
  const auto wanted = [this, document, deadline = submission.request.deadline] {
    return StillWanted(document, deadline);
  };
  if (absl::Status before = wanted(); !before.ok()) return before;
  absl::StatusOr<std::unique_ptr<DocumentJob>> job =
      DocumentJob::Prepare(std::move(submission), info_.config, tokenizers_, workers_, wanted);
  if (!job.ok()) return job.status();
  Arrival arrival{document, *std::move(job), {}};
  arrival.demands = arrival.job->Demands();
  for (const Demand& demand : arrival.demands) {
    if (loop_->CouldFit(demand)) continue;
    const Scheduler::Limits& limits = loop_->limits();
    return absl::InvalidArgumentError(
        absl::StrCat("the document needs ", demand.rows, " rows, ", demand.self_pages, " pages of keys and ",
                     demand.cross_pages, " pages of its source's keys at once; the engine has ", limits.rows, ", ",
                     limits.self_pages, " and ", limits.cross_pages,
                     ": ask for a smaller search.beam, depth.draft_tokens or search.max_length_ratio, or start the "
                     "server with more --kv-memory"));
  }
  return arrival;
}

absl::Status StepLoopEngine::StillWanted(int64_t document, absl::Time deadline) const {
  if (absl::Status ended = queue_.ended(); !ended.ok()) return ended;
  if (!queue_.waits(document)) return absl::CancelledError("the document was withdrawn");
  if (deadline > absl::Now()) return absl::OkStatus();
  return LateInQueue();
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
  const auto mailbox = std::make_shared<Mailbox>();
  absl::StatusOr<LoadedModel> loaded = LoadedModel::Open(options, [mailbox] { mailbox->Ring(); });
  if (!loaded.ok()) return loaded.status();
  absl::StatusOr<Tokenizers> tokenizers = OpenTokenizers(options.model_folder, loaded->model->config);
  if (!tokenizers.ok()) return tokenizers.status();
  absl::StatusOr<ModelInfo> info = Describe(options.model_folder, *loaded);
  if (!info.ok()) return info.status();
  return std::make_unique<StepLoopEngine>(options, observer, *std::move(loaded), *std::move(tokenizers),
                                          *std::move(info), mailbox);
}

absl::StatusOr<TranslationResult> Engine::Translate(TranslationRequest request) {
  auto waiter = std::make_shared<Waiter>();
  absl::StatusOr<std::shared_ptr<TranslationTicket>> ticket = Submit(std::move(request), waiter);
  if (!ticket.ok()) return ticket.status();
  return waiter->Wait();
}

}  // namespace salient
