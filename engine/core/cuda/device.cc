#include "engine/core/cuda/device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace salient::cuda {

void Device::Fail(int error, const char* call) {
  Fail(absl::UnavailableError(absl::StrCat("the GPU failed in ", call, ": ", ErrorText(error))));
}

void Device::Fail(absl::Status status) {
  if (ok()) *status_ = std::move(status);
}

uint64_t Device::Mark() {
  RecordEvent(static_cast<int>(++marks_ % kEvents));
  return marks_;
}

bool Device::Passed(uint64_t mark) {
  if (!ok() || mark <= passed_) return true;
  if (!EventPassed(static_cast<int>(mark % kEvents))) return !ok();
  passed_ = mark;
  return true;
}

void Device::WaitFor(uint64_t mark) {
  if (!ok() || mark <= passed_) return;
  WaitForEvent(static_cast<int>(mark % kEvents));
  passed_ = mark;
}

}  // namespace salient::cuda
