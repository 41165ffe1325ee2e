// What builds without SALIENT_CUDA have in place of the CUDA backend.

#include "absl/status/status.h"
#include "engine/backend/cuda/cuda_backend.h"

namespace salient {

absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const CudaOptions&) {
  return absl::UnavailableError("this build has no CUDA backend (it was built without SALIENT_CUDA)");
}

std::string cuda::GemmReport(const Backend&) { return ""; }
bool cuda::CopyOnDevice(Backend&, void*, const void*, size_t) { return false; }

}  // namespace salient
