#include "engine/decode/batch.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/search/rules.h"

namespace salient {
namespace {

// How many positions' missing keys are made together with a step's own rows. Further products make the rest.
constexpr int32_t kFillRows = 256;
// A device's host does not see how many keys are missing, so there is room for the greatest possible number: a chunk's
// missing keys wait for at most this many steps (fill.h).
constexpr int32_t kPatientSteps = 8;

int32_t FillRows(Backend& backend, const BatchOptions& options) {
  return backend.host_addressable() ? kFillRows : (kPatientSteps + 1) * options.max_rows;
}

int32_t EncoderTokens(const Model& model, const BatchOptions& options) {
  return std::max(options.encode_tokens, model.config.chunk_tokens);
}

}  // namespace

Batch::Batch(const Model& model, Backend& backend, KeyStores& stores, const BatchOptions& options)
    : model_(model),
      backend_(backend),
      stores_(stores),
      encode_queue_(backend.OpenQueue()),
      encoder_(model, encode_queue_ != nullptr ? *encode_queue_ : backend, EncoderTokens(model, options),
               options.encode_chunks),
      decoder_(model, backend, options.max_rows, FillRows(backend, options), 2 * kMaxBeam) {
  for (int32_t row = options.max_rows; row-- > 0;) free_rows_.push_back(row);
}

void Batch::Join(std::span<Sequence* const> sequences) {
  if (sequences.empty()) return;
  std::vector<EncoderInput> inputs;
  for (Sequence* sequence : sequences) {
    inputs.push_back(sequence->ForEncoder());
  }
  joining_.assign(sequences.begin(), sequences.end());
  // Steps in progress may still read the chunks' new pages and write to their arrays.
  if (encode_queue_ != nullptr) encode_queue_->After(backend_);
  encoder_.Begin(inputs, stores_.cross);
}

// A chunk may join the steps only after the host has seen its encoder pass end, so that steps find its keys.
void Batch::Encode(absl::Duration time) {
  if (!encoder_.busy()) return;
  const bool others_wait = decoding();
  if (encode_queue_ != nullptr) encode_queue_->LeaveRoom(others_wait);
  if (!encoder_.Continue(encode_queue_ != nullptr && !others_wait ? absl::InfiniteDuration() : time)) return;
  for (Sequence* sequence : joining_) {
    if (sequence != nullptr) sequence->MarkEncoded();
  }
}

void Batch::Schedule(Sequence& sequence) {
  SALIENT_CHECK(sequence.rows_wanted() <= static_cast<int32_t>(free_rows_.size()));
  std::vector<int32_t> rows(free_rows_.end() - sequence.rows_wanted(), free_rows_.end());
  std::reverse(rows.begin(), rows.end());
  free_rows_.resize(free_rows_.size() - rows.size());
  sequence.AssignRows(std::move(rows));
  running_.push_back(&sequence);
}

bool Batch::decoding() const {
  return std::any_of(running_.begin(), running_.end(), [](const Sequence* sequence) { return IsActive(*sequence); });
}

void Batch::Leave(Sequence& sequence) {
  if (!sequence.encoded()) {
    const auto place = std::find(joining_.begin(), joining_.end(), &sequence);
    SALIENT_CHECK(place != joining_.end());
    *place = nullptr;
    encoder_.Drop(static_cast<size_t>(place - joining_.begin()));
    // The pass in progress still uses the memory that this chunk releases.
    if (encode_queue_ != nullptr) backend_.After(*encode_queue_);
  }
  std::erase(running_, &sequence);
  for (std::vector<Sequence*>& group : ahead_) std::erase(group, &sequence);
  free_rows_.insert(free_rows_.end(), sequence.assigned_rows().begin(), sequence.assigned_rows().end());
  std::sort(free_rows_.rbegin(), free_rows_.rend());
}

// Whether the device can run the next steps without the host: no sequence needs the host between them.
bool Batch::CanStepAhead() const {
  if (!backend_.can_step_ahead() || decoder_.has_probes()) return false;
  return std::all_of(running_.begin(), running_.end(),
                     [](const Sequence* sequence) { return !IsActive(*sequence) || sequence->can_step_ahead(); });
}

// Gives chunks with a shortlist classifiers of their own, while these have fewer outputs in all than the vocabulary,
// which also bounds their memory. Beyond that, one product over the vocabulary reads less, because all rows share its
// weights; the results are the same in bits. Screens pay off only while the sum is kVocabularyOverScreen times smaller.
void Batch::GiveClassifiers() {
  if (!model_.has_tied_classifiers()) return;
  size_t outputs = 0;
  for (const Sequence* sequence : running_) {
    if (sequence->tokens().empty()) return;
    outputs += sequence->tokens().size() * (sequence->screens() ? kVocabularyOverScreen : 1);
  }
  if (outputs > static_cast<size_t>(model_.config.vocab_size)) return;
  for (Sequence* sequence : running_) {
    if (sequence->has_own_classifier()) continue;
    sequence->OwnClassifier(backend_.PickOutputs(model_.classifier(1), sequence->tokens()));
  }
}

int32_t Batch::Step() {
  GiveClassifiers();
  if (CanStepAhead()) return StepAhead();
  while (!ahead_.empty()) TakeRecords();
  return StepOnce();
}

// The host reads the records of earlier steps while these steps run.
int32_t Batch::StepAhead() {
  decoder_.AwaitUpload();
  std::vector<int32_t> rows;
  std::vector<Sequence*> group;
  int32_t width = 1;
  for (Sequence* sequence : running_) {
    if (!IsActive(*sequence)) continue;
    sequence->PrepareAhead(decoder_.rows(), rows, most_steps());
    width = std::max(width, sequence->candidates_wanted());
    group.push_back(sequence);
  }
  if (rows.empty()) return 0;
  std::sort(rows.begin(), rows.end());
  decoder_.PrepareRows(rows, most_steps());
  decoder_.StepAhead(rows, width, stores_.self, stores_.cross);
  ahead_.push_back(std::move(group));
  if (ahead_.size() == Decoder::kGroups) TakeRecords();
  return static_cast<int32_t>(rows.size());
}

// Gives the sequences the records of the oldest group of steps in progress. Some sequences have left since; others turn
// out to have been finished before the group began.
void Batch::TakeRecords() {
  const int32_t width = decoder_.TakeRecords();
  const std::vector<Sequence*> group = std::move(ahead_.front());
  ahead_.pop_front();
  if (!backend_.status().ok()) return;
  for (int32_t step = 0; step < Decoder::kMostAhead; ++step) {
    for (Sequence* sequence : group) {
      if (sequence->done()) continue;
      decoder_.LoadRecord(sequence->assigned_rows(), step);
      sequence->TakeStep(decoder_.rows(), width);
    }
  }
}

int32_t Batch::StepOnce() {
  std::vector<int32_t> rows;
  int32_t width = 1;
  bool traces = false;
  for (Sequence* sequence : running_) {
    if (!IsActive(*sequence)) continue;
    sequence->Prepare(decoder_.rows(), rows);
    width = std::max(width, sequence->candidates_wanted());
    traces |= sequence->wants_trace();
  }
  if (rows.empty()) return 0;
  std::sort(rows.begin(), rows.end());
  decoder_.PrepareRows(rows, 0);
  if (traces) {
    decoder_.set_selection_probe([this](Module module, int32_t group, Rows active, const KeyList* lists) {
      if (module != Module::kCross || group != 0) return;
      for (Sequence* sequence : running_) {
        if (!sequence->wants_trace() || !IsActive(*sequence)) continue;
        for (int32_t i = 0; i < active.size(); ++i) sequence->RecordSelected(active[i], lists[active[i]]);
      }
    });
  }
  Draft();
  rows.clear();
  for (Sequence* sequence : running_) {
    if (IsActive(*sequence)) sequence->AppendRows(decoder_.rows(), rows);
  }
  std::sort(rows.begin(), rows.end());
  decoder_.Step(rows, width, stores_.self, stores_.cross);
  if (traces) decoder_.set_selection_probe(nullptr);
  TakeSteps(width);
  return static_cast<int32_t>(rows.size());
}

// Sequences that use self-speculative decoding draft their next tokens: all sequences together, one token each at a
// time.
void Batch::Draft() {
  while (true) {
    std::vector<int32_t> drafting;
    for (Sequence* sequence : running_) {
      if (IsActive(*sequence)) sequence->PrepareDraft(decoder_.rows(), drafting);
    }
    if (drafting.empty()) return;
    std::sort(drafting.begin(), drafting.end());
    decoder_.Draft(drafting, stores_.self, stores_.cross);
    if (!backend_.status().ok()) return;
    for (Sequence* sequence : running_) {
      if (IsActive(*sequence)) sequence->TakeDraft(decoder_.rows());
    }
  }
}

// Gives the sequences the results of the step.
void Batch::TakeSteps(int32_t width) {
  if (!backend_.status().ok()) return;
  for (Sequence* sequence : running_) {
    if (IsActive(*sequence)) sequence->TakeStep(decoder_.rows(), width);
  }
}

}  // namespace salient
