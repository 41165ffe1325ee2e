#include "engine/core/cuda/device.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace salient::cuda {

void Device::Fail(int error, const char* call) {
  if (!ok()) return;
  const bool lasts = ErrorLasts();
  Fail(absl::UnavailableError(absl::StrCat("the GPU failed in ", call, ": ", ErrorText(error),
                                           lasts ? "; nothing more can be computed in this process" : "")));
}

void Device::Fail(absl::Status status) {
  if (ok()) *status_ = std::move(status);
}

absl::Status ProcessHasLostItsGpu() {
  return absl::UnavailableError("an earlier error of the GPU lasts until this process ends: restart the process");
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
