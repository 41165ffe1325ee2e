#include "server/models/model_slot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace salient {
namespace {

// After a failure requests are refused for so long before one tries again.
constexpr absl::Duration kBetweenTries = absl::Seconds(10);

std::string LastPart(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder.substr(folder.rfind('/') + 1);
}

// What clients are told; the reason, with its paths, is the operator's. INTERNAL, since a client must not retry it.
absl::Status NotLoaded(const std::string& name) {
  return absl::InternalError(absl::StrCat("model: '", name, "' could not be loaded; the server's log says why"));
}

absl::Status Removed(const std::string& name) {
  return absl::NotFoundError(absl::StrCat("model: '", name, "' was removed from this server"));
}

}  // namespace

ModelSlot::ModelSlot(EngineOptions options, Load load) : options_(std::move(options)), load_(std::move(load)) {}

ModelSlot::ModelSlot(std::shared_ptr<ServedModel> model)
    : options_(model->options),
      state_(v1::Model::SERVING),
      description_(model->description),
      model_(std::move(model)),
      metrics_(model_->metrics) {}

std::string ModelSlot::NameNow() const {
  return description_.name().empty() ? LastPart(options_.model_folder) : description_.name();
}

std::string ModelSlot::name() const {
  std::lock_guard lock(mutex_);
  return NameNow();
}

v1::Model ModelSlot::description() const {
  std::lock_guard lock(mutex_);
  v1::Model description = description_;
  description.set_name(NameNow());
  description.set_state(state_);
  return description;
}

ModelSlot::State ModelSlot::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

absl::Status ModelSlot::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

std::shared_ptr<ServedModel> ModelSlot::loaded() const {
  std::lock_guard lock(mutex_);
  return model_;
}

ModelMetrics* ModelSlot::metrics() const {
  std::lock_guard lock(mutex_);
  return metrics_;
}

int32_t ModelSlot::waiting() const {
  std::lock_guard lock(mutex_);
  const auto waits = [](const auto& waiter) { return !waiter->gone(); };
  return static_cast<int32_t>(std::count_if(waiters_.begin(), waiters_.end(), waits));
}

bool ModelSlot::HasRoom(double share) const {
  const std::shared_ptr<ServedModel> model = loaded();
  const int32_t waiting = model != nullptr ? model->engine->status().documents_waiting : this->waiting();
  return waiting < std::lround(share * options_.max_queued_documents);
}

absl::Status ModelSlot::CheckRoom(int64_t bytes) {
  std::erase_if(waiters_, [](const auto& waiter) { return waiter->gone(); });
  if (waiters_.empty()) return absl::OkStatus();
  for (const auto& waiter : waiters_) bytes += waiter->bytes();
  if (static_cast<int32_t>(waiters_.size()) < options_.max_queued_documents && bytes <= options_.max_queued_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat("the queue is full: ", waiters_.size(),
                                                   " documents wait until the model is loaded; try again later"));
}

std::shared_ptr<ServedModel> ModelSlot::Use(absl::Time now) {
  std::lock_guard lock(mutex_);
  used_at_ = now;
  return model_;
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelSlot::Await(const std::shared_ptr<ModelWaiter>& waiter,
                                                              absl::Time now) {
  bool load = false;
  {
    std::lock_guard lock(mutex_);
    if (removed_) return Removed(NameNow());
    used_at_ = now;
    if (model_ != nullptr) return model_;
    if (state_ == v1::Model::FAILED && now < failed_at_ + kBetweenTries) {
      return NotLoaded(NameNow());
    }
    if (absl::Status room = CheckRoom(waiter->bytes()); !room.ok()) return room;
    waiters_.push_back(waiter);
    load = state_ != v1::Model::LOADING;
    state_ = v1::Model::LOADING;
  }
  if (load) load_(shared_from_this());
  return nullptr;
}

void ModelSlot::SetLoading() {
  std::lock_guard lock(mutex_);
  if (model_ == nullptr) state_ = v1::Model::LOADING;
}

// Documents that waited are submitted before any that comes now, which waits meanwhile. Those who waited meanwhile go
// with the ones after them: or else documents might come faster than this thread submits them, and no other model would
// be loaded.
void ModelSlot::SetModel(const std::shared_ptr<ServedModel>& model) {
  std::shared_ptr<ServedModel> old;
  Waiters waited, came;
  {
    std::lock_guard lock(mutex_);
    waited.swap(waiters_);
  }
  for (const auto& waiter : waited) waiter->TakeModel(model);
  {
    std::lock_guard lock(mutex_);
    if (removed_) return;
    came.swap(waiters_);
    old = std::exchange(model_, model);
    description_ = model->description;
    metrics_ = model->metrics;
    state_ = v1::Model::SERVING;
    failure_ = absl::OkStatus();
    used_at_ = absl::Now();
  }
  for (const auto& waiter : came) waiter->TakeModel(model);
}

void ModelSlot::SetFailure(const absl::Status& failure, absl::Time now) {
  Waiters waiters;
  absl::Status told;
  {
    std::lock_guard lock(mutex_);
    failure_ = failure;
    failed_at_ = now;
    if (model_ != nullptr) return;
    state_ = v1::Model::FAILED;
    waiters.swap(waiters_);
    told = NotLoaded(NameNow());
  }
  for (const auto& waiter : waiters) waiter->TakeModel(told);
}

void ModelSlot::Remove() {
  Waiters waiters;
  std::shared_ptr<ServedModel> model;
  absl::Status told;
  {
    std::lock_guard lock(mutex_);
    removed_ = true;
    model = std::move(model_);
    waiters.swap(waiters_);
    told = Removed(NameNow());
  }
  for (const auto& waiter : waiters) waiter->TakeModel(told);
}

// Who translates holds the model; nobody can take it up while the lock is held.
bool ModelSlot::DropIfIdle(absl::Time now, absl::Duration idle) {
  std::shared_ptr<ServedModel> model;
  std::lock_guard lock(mutex_);
  if (model_ == nullptr || !load_) return false;
  if (model_.use_count() > 1) used_at_ = now;
  if (now - used_at_ < idle) return false;
  model = std::move(model_);  // closed by its closer's thread
  state_ = v1::Model::IDLE;
  return true;
}

void ModelSlot::DropLate(absl::Time now) {
  Waiters late;
  {
    std::lock_guard lock(mutex_);
    const auto at = std::stable_partition(waiters_.begin(), waiters_.end(),
                                          [now](const auto& waiter) { return waiter->deadline() > now; });
    late.assign(at, waiters_.end());
    waiters_.erase(at, waiters_.end());
  }
  for (const auto& waiter : late) {
    waiter->TakeModel(absl::DeadlineExceededError("the deadline passed while the document waited for its model"));
  }
}

}  // namespace salient
