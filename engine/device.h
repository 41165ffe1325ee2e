// Opens the device of an engine.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/engine.h"

namespace salient {

struct OpenedBackend {
  std::string device;  // the name that opens the same device again: never auto
  std::unique_ptr<Backend> backend;
};

// Opens the backend of `device`: cpu, cuda, auto (a GPU if there is one, otherwise the CPU), or reference.
// INVALID_ARGUMENT for another name; for cuda the status of MakeCudaBackend, with the remedy. Not options.device: a
// recovering engine opens the device that it had, whatever "auto" would mean now.
absl::StatusOr<OpenedBackend> OpenBackend(const std::string& device, const EngineOptions& options);

}  // namespace salient
