// Where an engine runs, and what its model's folder says of the model.

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/engine.h"

namespace salient {

// The backend for options.device. "auto" takes a GPU if there is one, else the CPU. `opened` is set to the device that
// it was: asked for again by that name, an engine recovers where it was or not at all.
absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const EngineOptions& options, std::string device,
                                                     std::string* opened);

// What keys and values get is taken at once: better refused than half taken.
absl::Status CheckMemory(const EngineOptions& options, const DeviceMemory& memory);

// A file's text; empty where there is none.
std::string TextOf(const std::string& path);

// The first paragraph of a model card that is not a heading.
std::string Description(const std::string& card);

}  // namespace salient
