// For tests of operations on the emulation: all host memory counts as pinned, as pinned_main.cc makes it on a GPU. So a
// host buffer that is freed or changed while a copy may still read it shows here, too.

#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

[[maybe_unused]] const bool g_pinned = (emulation::PinAllHostMemory(true), true);

}  // namespace
}  // namespace salient
