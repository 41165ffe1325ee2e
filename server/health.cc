#include "server/health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace salient {

absl::Status Health::TakesDocuments() const {
  const Readiness readiness = readiness_;
  if (readiness == Readiness::kServing || readiness == Readiness::kLeaving) return absl::OkStatus();
  return absl::UnavailableError(readiness == Readiness::kLoading ? "the server is still loading its models"
                                                                 : "the server is shutting down");
}

absl::Status Health::Ready() const {
  if (absl::Status status = TakesDocuments(); !status.ok()) return status;
  if (readiness_ == Readiness::kLeaving) return absl::UnavailableError("the server is shutting down");
  bool usable = false;
  for (const auto& slot : models_.models()) {
    usable |= Usable(*slot);
    const std::shared_ptr<ServedModel> model = slot->loaded();
    if (model == nullptr) continue;
    const EngineState state = model->engine->status().state;
    if (state == EngineState::kHealthy) continue;
    return absl::UnavailableError(absl::StrCat("the engine of ", model->description.name(),
                                               state == EngineState::kDead ? " is dead" : " is recovering"));
  }
  return usable ? absl::OkStatus() : absl::UnavailableError("no model could be loaded");
}

// One that is loaded on request counts: it was loaded before.
bool Health::Usable(const ModelSlot& slot) {
  return slot.state() != v1::Model::FAILED && slot.metrics() != nullptr;
}

bool Health::HasDeadEngine() const {
  const ModelSlots slots = models_.models();
  return std::any_of(slots.begin(), slots.end(), [](const auto& slot) {
    const std::shared_ptr<ServedModel> model = slot->loaded();
    return model != nullptr && model->engine->status().state == EngineState::kDead;
  });
}

absl::Status Health::Alive() const {
  if (readiness_ == Readiness::kLoading) return absl::OkStatus();
  for (const auto& slot : models_.models()) {
    const std::shared_ptr<ServedModel> model = slot->loaded();
    if (model == nullptr) continue;
    const EngineStatus status = model->engine->status();
    if (status.state == EngineState::kDead) {
      return absl::UnavailableError(
          absl::StrCat("the engine of ", model->description.name(), " is dead; start the server anew"));
    }
    if (absl::Seconds(status.turn_seconds) > stall_limit_) {
      return absl::UnavailableError(absl::StrCat("the step loop of ", model->description.name(), " has not turned for ",
                                                 status.turn_seconds,
                                                 " seconds (--stall-limit); start the server anew"));
    }
  }
  return absl::OkStatus();
}

}  // namespace salient
