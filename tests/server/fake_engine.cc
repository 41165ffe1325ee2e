#include "tests/server/fake_engine.h"

#include <future>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/options/resolve.h"

namespace salient {
namespace {

std::vector<absl::string_view> Lines(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

ModelConfig MakeConfig(const FakeEngineOptions& options) {
  ModelConfig config;
  config.name = options.name;
  config.source_language = options.source_language;
  config.target_language = options.target_language;
  config.d_model = 64;
  config.heads = 4;
  config.encoder.layers = 6;
  config.decoder.layers = 6;
  config.has_selection = true;
  config.has_shortlist = true;
  config.selection.width = 32;
  config.selection.min_keys = 10;
  for (int module = 0; module < kModules; ++module) {
    config.selection.group[module] = 3;
    config.selection.learned_ratio[module] = {0.1, 0.1};
  }
  config.has_exits = true;
  config.geometric_head = true;
  config.chunk_tokens = 1024;
  return config;
}

TranslatedSegment SegmentOf(const TranslationRequest& request, absl::string_view source, int index) {
  TranslatedSegment segment;
  segment.index = index;
  segment.source = std::string(source);
  segment.text = absl::AsciiStrToUpper(segment.source);
  const std::string& prefix = request.options.search.prefix;
  if (index == 0) segment.text.replace(0, prefix.size(), prefix);
  segment.source_tokens = segment.target_tokens = static_cast<int32_t>(segment.source.size());
  return segment;
}

}  // namespace

TranslatedSegment FakeSegment(const TranslationRequest& request, int index) {
  return SegmentOf(request, Lines(request.text)[index], index);
}

TranslationResult FakeTranslation(const TranslationRequest& request) {
  TranslationResult result;
  result.text = absl::AsciiStrToUpper(request.text);
  const std::vector<absl::string_view> lines = Lines(request.text);
  const int segments = static_cast<int>(lines.size());
  size_t at = 0;
  for (int i = 0; i < segments; ++i) {
    result.segments.push_back(SegmentOf(request, lines[i], i));
    const TranslatedSegment& segment = result.segments.back();
    at = result.text.find(absl::AsciiStrToUpper(segment.source), at);
    result.begins.push_back(at);
    result.text.replace(at, segment.source.size(), segment.text);
    at += segment.text.size();
  }
  CostReport& report = result.report;
  report.segments = segments;
  report.chunks = 1;
  report.source_tokens = report.target_tokens = static_cast<int32_t>(request.text.size());
  report.total_seconds = 0.25;
  report.decode_seconds = 0.2;
  report.attention_cost_ratio = 0.07;
  report.attention_executed_ratio = 0.08;
  report.mean_exit = 2;
  report.exit_histogram = {0, report.target_tokens, 0, 0, 0, 0};
  result.used = request.options;
  result.used.search.beam = request.options.search.beam.value_or(1);
  return result;
}

class FakeEngine::Ticket : public TranslationTicket {
 public:
  Ticket(FakeEngine& engine, int document) : engine_(engine), document_(document) {}
  void Cancel() override { engine_.Cancel(document_); }

 private:
  FakeEngine& engine_;
  const int document_;
};

FakeEngine::FakeEngine(const FakeEngineOptions& options) : options_(options), thread_([this] { Run(); }) {
  info_.config = MakeConfig(options);
  info_.policies = PoliciesOf(info_.config);
  info_.parameters = 12345678;
  info_.device = "fake";
  info_.description = "Writes in capitals.";
  info_.operating_points = options.points;
}

FakeEngine::~FakeEngine() {
  for (int i = 0; i < admitted(); ++i) {
    Post([this, i] { End(i, absl::CancelledError("the engine ends")); });
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

absl::StatusOr<std::shared_ptr<TranslationTicket>> FakeEngine::Submit(TranslationRequest request,
                                                                      std::shared_ptr<TranslationListener> listener) {
  auto resolved = Resolve(request.options, info_.config);
  if (!resolved.ok()) return resolved.status();
  int index = 0;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (in_flight_ >= options_.capacity) {
      ++refused_;
      return absl::ResourceExhaustedError("the queue is full");
    }
    ++in_flight_;
    index = static_cast<int>(documents_.size());
    documents_.push_back({std::move(request), std::move(listener)});
  }
  changed_.notify_all();
  if (options_.automatic) {
    Post([this, index] {
      TranslationResult result = FakeTranslation(RequestOf(index));
      const auto its_listener = Listener(index);
      if (its_listener == nullptr) return;  // it is over
      for (const TranslatedSegment& segment : result.segments) its_listener->OnSegment(segment);
      End(index, std::move(result));
    });
  }
  return std::make_shared<Ticket>(*this, index);
}

EngineStatus FakeEngine::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  EngineStatus status;
  status.documents_running = in_flight_;
  status.documents_waiting = in_flight_ >= options_.capacity ? kMaxQueued : 0;
  status.state = state_;
  status.turn_seconds = turn_seconds_;
  status.kv_bytes_used = in_flight_;
  status.kv_bytes_total = options_.capacity;
  return status;
}

void FakeEngine::WaitForAdmitted(int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return static_cast<int>(documents_.size()) >= count; });
}

void FakeEngine::WaitForCancelled(int count) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return cancelled_ >= count; });
}

void FakeEngine::Progress(int document, int done, int total, int tokens) {
  PostAndWait([this, document, done, total, tokens] {
    const auto listener = Listener(document);
    if (listener == nullptr) return;  // it is over
    listener->OnProgress({.segments_done = done, .segments_total = total, .target_tokens = tokens, .queued = false});
  });
}

void FakeEngine::Segment(int document, int index) {
  PostAndWait([this, document, index] {
    const auto listener = Listener(document);
    if (listener != nullptr) listener->OnSegment(FakeSegment(RequestOf(document), index));
  });
}

void FakeEngine::Finish(int document) {
  PostAndWait([this, document] { End(document, FakeTranslation(RequestOf(document))); });
}

void FakeEngine::Fail(int document, const absl::Status& status) {
  PostAndWait([this, document, status] { End(document, status); });
}

void FakeEngine::SetState(EngineState state, double turn_seconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  state_ = state;
  turn_seconds_ = turn_seconds;
}

int FakeEngine::admitted() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(documents_.size());
}

int FakeEngine::refused() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return refused_;
}

TranslationRequest FakeEngine::request(int document) const { return RequestOf(document); }

const TranslationRequest& FakeEngine::RequestOf(int document) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return documents_[document].request;
}

std::shared_ptr<TranslationListener> FakeEngine::Listener(int document) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return documents_[document].listener;
}

void FakeEngine::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

void FakeEngine::Post(std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void FakeEngine::PostAndWait(std::function<void()> task) {
  std::promise<void> done;
  Post([&done, &task] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

void FakeEngine::End(int document, absl::StatusOr<TranslationResult> result) {
  std::shared_ptr<TranslationListener> listener;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (documents_[document].done) return;
    documents_[document].done = true;
    --in_flight_;
    listener = std::move(documents_[document].listener);  // as a real engine lets go of it
  }
  listener->OnDone(std::move(result));
}

void FakeEngine::Cancel(int document) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++cancelled_;
  }
  changed_.notify_all();
  Post([this, document] { End(document, absl::CancelledError("cancelled")); });
}

}  // namespace salient
