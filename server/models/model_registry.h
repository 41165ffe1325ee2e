// The models of this server by name, and the choice of a model for a request.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "salient/v1/translation.pb.h"
#include "server/models/model_slot.h"
#include "server/telemetry/metrics.h"

namespace salient {

using ModelSlots = std::vector<std::shared_ptr<ModelSlot>>;

class ModelRegistry {
 public:
  explicit ModelRegistry(Metrics& metrics) : metrics_(metrics) {}

  void Add(std::shared_ptr<ModelSlot> slot);
  // New requests do not find it any more. Documents in flight are finished.
  void Remove(const std::shared_ptr<ModelSlot>& slot);

  // Puts a loaded model into its slot, which takes the model's name. Nothing is reported of an earlier name any more.
  void SetModel(ModelSlot& slot, const std::shared_ptr<ServedModel>& model);

  // As they are now, in the order in which they were added.
  ModelSlots models() const;

  // NOT_FOUND names the available models.
  absl::StatusOr<std::shared_ptr<ModelSlot>> Find(const std::string& name) const;

  // The model that a request names, or the only one for its languages, whether or not it is in memory. NOT_FOUND names
  // the available models; INVALID_ARGUMENT, if several models match, names them.
  absl::StatusOr<std::shared_ptr<ModelSlot>> Choose(const v1::TranslateDocumentRequest& request) const;

  // Updates the gauges from the present state of the models and their engines.
  void UpdateGauges() const;

 private:
  Metrics& metrics_;
  mutable std::mutex mutex_;
  ModelSlots slots_;
};

}  // namespace salient
