#include "engine/backend/cuda/device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace salient::cuda {

void Device::Fail(int error, const char* call) {
  Fail(absl::UnavailableError(absl::StrCat("the GPU failed in ", call, ": ", ErrorText(error))));
}

void Device::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}

}  // namespace salient::cuda
