// Linked into salient-server for a test (dead_engine_test.cc): the emulated GPU that its engine opens fails for good,
// after as many kernels and copies as the environment says.

#include <cstdlib>

#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

const bool kIsArmed = [] {
  const char* const launches = std::getenv("SALIENT_TEST_FAIL_AFTER");
  if (launches != nullptr) emulation::FailNextDeviceAfter(std::atoll(launches), /*lasts=*/true);
  return launches != nullptr;
}();

}  // namespace
}  // namespace salient
