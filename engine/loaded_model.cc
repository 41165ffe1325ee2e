#include "engine/loaded_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/device.h"
#include "engine/key_memory.h"

namespace salient {
namespace {

absl::StatusOr<std::shared_ptr<KeyPools>> PoolsFor(const EngineOptions& options, const std::string& device,
                                                   Backend& backend) {
  if (options.key_memory != nullptr) return options.key_memory->On(device, backend);
  return KeyMemory(options.kv_bytes).On(device, backend);
}

absl::Status ChangedSince(const std::string& folder, const std::string& file) {
  return absl::FailedPreconditionError(absl::StrCat(
      folder, "/", file, " is not as it was when the model was loaded: reload the model or restart the server"));
}

}  // namespace

absl::StatusOr<LoadedModel> LoadedModel::Open(const EngineOptions& options, const std::function<void()>& look) {
  LoadedModel loaded;
  loaded.files = StampsOf(options.model_folder);
  if (const absl::Status opened = loaded.OpenOn(options.device, options, look); !opened.ok()) return opened;
  return loaded;
}

absl::Status LoadedModel::Reopen(const EngineOptions& options) {
  Close();
  stores->self.share().Keep(0);
  stores->cross.share().Keep(0);
  absl::Status opened = OpenOn(std::string(device), options, nullptr);
  if (!opened.ok()) Close();
  return opened;
}

void LoadedModel::Close() {
  batch.reset();
  model.reset();
  backend.reset();
}

absl::Status LoadedModel::OpenOn(const std::string& name, const EngineOptions& options,
                                 const std::function<void()>& look) {
  absl::StatusOr<OpenedBackend> opened = OpenBackend(name, options);
  if (!opened.ok()) return opened.status();
  device = std::move(opened->device);
  backend = std::move(opened->backend);
  absl::StatusOr<std::unique_ptr<Model>> read = Model::Load(options.model_folder, *backend);
  if (stores != nullptr) {  // after the reading, so that no change during it is missed
    const std::string changed = FirstChanged(files, StampsOf(options.model_folder));
    if (!changed.empty()) return ChangedSince(options.model_folder, changed);
  }
  if (!read.ok()) return read.status();
  if (stores == nullptr) {
    config = (*read)->config;
  } else if ((*read)->config != config) {
    return ChangedSince(options.model_folder, "config.json");
  }
  model = *std::move(read);
  batch_options = {.max_rows = std::max(options.max_rows, 1),
                   .encode_tokens = std::max(options.encode_tokens, model->config.chunk_tokens)};
  if (stores == nullptr) {
    absl::StatusOr<std::shared_ptr<KeyPools>> found = PoolsFor(options, device, *backend);
    if (!found.ok()) return found.status();
    pools = *std::move(found);
    stores = std::make_unique<KeyStores>(*model, *backend, options.kv_type, *pools, look);
    if (pools->bytes < stores->least_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("--kv-memory is ", pools->bytes, " bytes; this model needs ",
                                                     stores->least_bytes(), " or more for a page of its keys"));
    }
  }
  batch = std::make_unique<Batch>(*model, *backend, *stores, batch_options);
  return backend->status();
}

}  // namespace salient
