#include <atomic>
#include <memory>

#include "engine/backend/cuda/device.h"
#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

std::atomic<int64_t> g_fail_after{-1};

}  // namespace

absl::StatusOr<std::unique_ptr<cuda::Device>> cuda::OpenDevice() {
  auto device = std::make_unique<emulation::EmulatedDevice>();
  device->FailAfter(g_fail_after.exchange(-1));
  return device;
}

void emulation::FailNextDeviceAfter(int64_t launches) { g_fail_after.store(launches); }

}  // namespace salient
