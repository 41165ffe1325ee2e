// The backends that are compared with others, by name and in fp32, so that they differ only by rounding.

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "engine/backend/backend.h"

namespace salient {

// reference, cuda or cpu.
inline absl::StatusOr<std::unique_ptr<Backend>> OpenInF32(const std::string& device) {
  if (device == "cuda") return MakeCudaBackend({.compute = ComputeType::kF32});
  if (device == "reference") return MakeReferenceBackend();
  return MakeCpuBackend({.threads = 2, .compute = ComputeType::kF32});
}

}  // namespace salient
