// A model on its device, with the memory for keys: opened at the start, and anew when the device has failed.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/decode/batch.h"
#include "engine/engine.h"
#include "engine/model/model.h"

namespace salient {

struct LoadedModel {
  // `device` as EngineOptions::device names it; a model that is opened again names the device that it was on, so that
  // "auto" never changes it behind the caller's back.
  static absl::StatusOr<LoadedModel> Open(const EngineOptions& options, const std::string& device);

  std::string device;  // that it is on
  BatchOptions batch_options;
  // Later ones refer to earlier ones.
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<Batch> batch;
};

}  // namespace salient
