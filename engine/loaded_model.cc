#include "engine/loaded_model.h"

#include <algorithm>
#include <utility>

#include "engine/device.h"

namespace salient {

absl::StatusOr<LoadedModel> LoadedModel::Open(const EngineOptions& options, const std::string& device) {
  LoadedModel loaded;
  absl::StatusOr<std::unique_ptr<Backend>> backend = OpenBackend(options, device, &loaded.device);
  if (!backend.ok()) return backend.status();
  loaded.backend = *std::move(backend);
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(options.model_folder, *loaded.backend);
  if (!model.ok()) return model.status();
  loaded.model = *std::move(model);
  loaded.batch_options = {.max_rows = std::max(options.max_rows, 1),
                          .encode_tokens = std::max(options.encode_tokens, loaded.model->config.chunk_tokens),
                          .kv_bytes = options.kv_bytes,
                          .kv_type = options.kv_type};
  if (const absl::Status fits = CheckMemory(options, loaded.backend->memory()); !fits.ok()) return fits;
  loaded.batch = std::make_unique<Batch>(*loaded.model, *loaded.backend, loaded.batch_options);
  if (const absl::Status status = loaded.backend->status(); !status.ok()) return status;
  return loaded;
}

}  // namespace salient
