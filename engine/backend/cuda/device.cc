#include "engine/backend/cuda/device.h"

#include "absl/strings/str_cat.h"

namespace salient::cuda {

void Device::Fail(int error, const char* call) {
  if (!status_.ok()) return;
  status_ = absl::UnavailableError(absl::StrCat("the GPU failed in ", call, ": ", ErrorText(error)));
}

}  // namespace salient::cuda
