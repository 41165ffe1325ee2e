// Opens the device of an engine, and reads descriptions from its model's folder.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/backend/backend.h"
#include "engine/engine.h"

namespace salient {

// Opens the backend of options.device. "auto" uses a GPU if there is one, otherwise the CPU. `opened` is set to the
// name of the device that was opened. A recovering engine opens the device of this name, so it never changes the
// device.
absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const EngineOptions& options, std::string device,
                                                     std::string* opened);

// The first paragraph of a model card that is not a heading, 4096 bytes of it at most. Empty if it is not UTF-8:
// replies are, and one that is not could not be read.
std::string Description(const std::string& card);

}  // namespace salient
