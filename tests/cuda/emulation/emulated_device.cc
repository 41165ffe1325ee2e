#include "tests/cuda/emulation/emulated_device.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace salient::emulation {
namespace {

constexpr size_t kAlignment = 256;
constexpr int kInjectedError = 700;  // cudaErrorIllegalAddress

class EmulatedGraph final : public cuda::Graph {
 public:
  explicit EmulatedGraph(std::vector<std::function<void()>> captured) : work(std::move(captured)) {}
  const std::vector<std::function<void()>> work;
};

}  // namespace

EmulatedDevice::EmulatedDevice() {
  void* memory = mmap(nullptr, kMemoryBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulated device memory");
    std::abort();
  }
  // On huge pages, where there are any, making it accessible and inaccessible costs next to nothing.
  madvise(memory, kMemoryBytes, MADV_HUGEPAGE);
  memory_ = static_cast<std::byte*>(memory);
}

EmulatedDevice::~EmulatedDevice() { munmap(memory_, kMemoryBytes); }

void* EmulatedDevice::Allocate(size_t bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (in_use_ + bytes > limit_ || (fail_allocation_ >= 0 && fail_allocation_-- == 0)) return nullptr;
  std::byte* pointer = nullptr;
  if (const auto at = free_.find(bytes); at != free_.end()) {
    pointer = at->second;
    free_.erase(at);
  } else {
    if (used_ + bytes > kMemoryBytes) return nullptr;
    pointer = memory_ + used_;
    used_ += bytes;
  }
  taken_[pointer] = bytes;
  in_use_ += bytes;
  return pointer;
}

void EmulatedDevice::Free(void* pointer) {
  const auto at = taken_.find(static_cast<std::byte*>(pointer));
  free_.emplace(at->second, at->first);
  in_use_ -= at->second;
  taken_.erase(at);
}

void* EmulatedDevice::AllocatePinned(size_t bytes) {
  if (fail_pinned_ >= 0 && fail_pinned_-- == 0) return nullptr;
  return std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
}
void EmulatedDevice::FreePinned(void* pointer) { std::free(pointer); }

void EmulatedDevice::Zero(void* device, size_t bytes) {
  Enqueue([=] { std::memset(device, 0, bytes); });
}

void EmulatedDevice::CopyToDevice(void* device, const void* host, size_t bytes) {
  Enqueue([=] { std::memcpy(device, host, bytes); });
}

void EmulatedDevice::CopyToHost(void* host, const void* device, size_t bytes) {
  if (!ok()) return;
  Run([=] { std::memcpy(host, device, bytes); });
}

void EmulatedDevice::StartCopyToHost(void* pinned, const void* device, size_t bytes) {
  Enqueue([=] { std::memcpy(pinned, device, bytes); });
}

void EmulatedDevice::BeginCapture() { capturing_ = true; }

std::unique_ptr<cuda::Graph> EmulatedDevice::EndCapture() {
  capturing_ = false;
  return std::make_unique<EmulatedGraph>(std::exchange(captured_, {}));
}

void EmulatedDevice::Replay(cuda::Graph& graph) {
  for (const std::function<void()>& work : static_cast<EmulatedGraph&>(graph).work) Enqueue(work);
}

void EmulatedDevice::Enqueue(std::function<void()> work) {
  if (!ok()) return;
  if (capturing_) {
    captured_.push_back(std::move(work));
    return;
  }
  ++launches_;
  if (fail_after_ >= 0 && fail_after_-- == 0) return Fail(kInjectedError, "a kernel launch");
  Run(work);
}

void EmulatedDevice::Run(const std::function<void()>& work) {
  mprotect(memory_, kMemoryBytes, PROT_READ | PROT_WRITE);
  work();
  mprotect(memory_, kMemoryBytes, PROT_NONE);
}

std::string EmulatedDevice::ErrorText(int error) const {
  return error == kInjectedError ? "an illegal memory access was encountered" : "error " + std::to_string(error);
}

}  // namespace salient::emulation
