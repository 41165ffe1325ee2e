#include "engine/device.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace salient {

absl::StatusOr<OpenedBackend> OpenBackend(const std::string& device, const EngineOptions& options) {
  if (device == "reference") return OpenedBackend{device, MakeReferenceBackend()};
  const bool is_auto = device == "auto";
  if (is_auto || device == "cuda") {
    absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend({.compute = options.compute});
    if (cuda.ok()) return OpenedBackend{"cuda", *std::move(cuda)};
    if (!is_auto) {
      return absl::Status(cuda.status().code(),
                          absl::StrCat("device is cuda: ", cuda.status().message(), "; use auto or cpu"));
    }
  } else if (device != "cpu") {
    return absl::InvalidArgumentError(absl::StrCat("device is \"", device, "\"; it must be auto, cpu or cuda"));
  }
  return OpenedBackend{"cpu", MakeCpuBackend({.threads = options.threads, .compute = options.compute})};
}

}  // namespace salient
