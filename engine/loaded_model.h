// A model on its device, with the memory for keys: opened at the start, and anew when the device has failed.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/decode/batch.h"
#include "engine/decode/key_stores.h"
#include "engine/engine.h"
#include "engine/file_stamps.h"
#include "engine/model/model.h"

namespace salient {

struct LoadedModel {
  // `look` is called when somebody waits for pages of keys (PageShare).
  static absl::StatusOr<LoadedModel> Open(const EngineOptions& options, const std::function<void()>& look);

  // After a failure, when no sequence is left: opens the device anew, the same one, so that "auto" never changes it
  // behind the caller's back. Others may have the memory for keys meanwhile. If it fails, there is no backend, model or
  // batch any more. FAILED_PRECONDITION if the model's folder has another config.json by now, or other weights or
  // tokenizers: pages, vocabularies and limits are those of the model that was opened first.
  absl::Status Reopen(const EngineOptions& options);

  std::string device;  // that it is on
  ModelConfig config;  // of the model that was opened first
  FileStamps files;    // of its folder, from before they were read
  BatchOptions batch_options;
  // Later ones refer to earlier ones. A backend that is destroyed waits for all that was launched, also after a
  // failure: only then may others have the pages of the stores.
  std::shared_ptr<KeyPools> pools;
  std::unique_ptr<KeyStores> stores;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  std::unique_ptr<Batch> batch;

 private:
  void Close();
  absl::Status OpenOn(const std::string& name, const EngineOptions& options, const std::function<void()>& look);
};

}  // namespace salient
