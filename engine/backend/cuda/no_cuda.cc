// MakeCudaBackend of builds without SALIENT_CUDA.

#include "absl/status/status.h"
#include "engine/backend/backend.h"

namespace salient {

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const CudaOptions&) {
  return absl::UnavailableError("this build has no CUDA backend (it was built without SALIENT_CUDA)");
}

}  // namespace salient
