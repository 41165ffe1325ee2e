#include <atomic>
#include <memory>

#include "engine/core/cuda/device.h"
#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

std::atomic<bool> g_failure_lasts{false};
std::atomic<int64_t> g_fail_after{-1}, g_fail_allocation{-1}, g_fail_pinned{-1};
std::atomic<size_t> g_limit{SIZE_MAX};

}  // namespace

absl::StatusOr<std::unique_ptr<cuda::Device>> cuda::OpenDevice() {
  if (emulation::ProcessIsLost()) return ProcessHasLostItsGpu();
  auto device = std::make_unique<emulation::EmulatedDevice>();
  device->FailAfter(g_fail_after.exchange(-1), g_failure_lasts);
  device->FailAllocation(g_fail_allocation.exchange(-1), false);
  device->FailAllocation(g_fail_pinned.exchange(-1), true);
  device->Limit(g_limit.exchange(SIZE_MAX));
  return device;
}

void emulation::FailNextDeviceAfter(int64_t launches, bool lasts) {
  g_failure_lasts.store(lasts);
  g_fail_after.store(launches);
}
void emulation::LimitNextDevice(size_t bytes) { g_limit.store(bytes); }
void emulation::FailNextDevicesAllocation(int64_t allocations, bool pinned) {
  (pinned ? g_fail_pinned : g_fail_allocation).store(allocations);
}

}  // namespace salient
