#include "tests/cuda/emulation/emulated_device.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "tests/cuda/emulation/gpu.h"

namespace salient::emulation {
namespace {

constexpr int kIllegalAddress = 700;  // cudaErrorIllegalAddress
constexpr int kOutOfResources = 701;  // cudaErrorLaunchOutOfResources

std::atomic<int64_t> g_waits_for_everything{0}, g_pageable_copies{0}, g_replays{0};
std::atomic<bool> g_lost{false}, g_all_pinned{false};

class EmulatedGraph final : public cuda::Graph {
 public:
  explicit EmulatedGraph(std::vector<std::function<void()>> captured) : work(std::move(captured)) {}
  const std::vector<std::function<void()>> work;
};

}  // namespace

int64_t Replays() { return g_replays.load(); }
int64_t PageableCopies() { return g_pageable_copies.load(); }
void PinAllHostMemory(bool pinned) { g_all_pinned = pinned; }
bool ProcessIsLost() { return g_lost; }
void RestartProcess() { g_lost = false; }

int64_t WaitsForEverything() { return g_waits_for_everything.load(); }

EmulatedDevice::EmulatedDevice() : gpu_(std::make_shared<Gpu>()), stream_(gpu_->OpenStream()) {}
EmulatedDevice::EmulatedDevice(std::shared_ptr<Gpu> gpu, std::shared_ptr<absl::Status> errors)
    : Device(std::move(errors)), gpu_(std::move(gpu)), stream_(gpu_->OpenStream()) {}
EmulatedDevice::~EmulatedDevice() = default;

size_t EmulatedDevice::free_bytes() const { return gpu_->free_bytes(); }

std::unique_ptr<cuda::Device> EmulatedDevice::OpenStream() {
  return std::unique_ptr<cuda::Device>(new EmulatedDevice(gpu_, shared_errors()));
}

void EmulatedDevice::After(cuda::Device& other) {
  if (ok()) gpu_->Order(stream_, static_cast<EmulatedDevice&>(other).stream_);
}

void* EmulatedDevice::Allocate(size_t bytes) { return gpu_->Allocate(bytes); }

void EmulatedDevice::Free(void* pointer) {
  if (ok()) gpu_->RunAll();
  NoteFailure();
  gpu_->Free(pointer);
}

std::shared_ptr<std::byte> EmulatedDevice::AllocateShared(size_t bytes) {
  return {static_cast<std::byte*>(gpu_->Allocate(bytes)), [gpu = gpu_](std::byte* pointer) {
            if (pointer != nullptr) gpu->Free(pointer);
          }};
}

void* EmulatedDevice::AllocatePinned(size_t bytes) { return gpu_->AllocatePinned(bytes); }
void EmulatedDevice::FreePinned(void* pointer) { gpu_->FreePinned(pointer); }

void EmulatedDevice::Zero(void* device, size_t bytes) {
  Enqueue([=] { std::memset(device, 0, bytes); });
}

void EmulatedDevice::CopyToDevice(void* device, const void* host, size_t bytes) {
  const bool pinned = g_all_pinned || gpu_->IsPinned(host);
  if (!pinned) ++g_pageable_copies;
  Enqueue([=] { std::memcpy(device, host, bytes); });
  if (!pinned) Synchronize();
}

void EmulatedDevice::CopyToHost(void* host, const void* device, size_t bytes) {
  Enqueue([=] { std::memcpy(host, device, bytes); });
  Synchronize();
}

void EmulatedDevice::StartCopyToHost(void* host, const void* device, size_t bytes) {
  if (!g_all_pinned && !gpu_->IsPinned(host)) return CopyToHost(host, device, bytes);
  Enqueue([=] { std::memcpy(host, device, bytes); });
}

void EmulatedDevice::Synchronize() { RunUntil(gpu_->given(stream_)); }

void EmulatedDevice::RunUntil(uint64_t done) {
  if (!ok()) return;
  g_waits_for_everything += done == gpu_->given(stream_);
  gpu_->RunUntil(stream_, done);
  NoteFailure();
}

std::unique_ptr<cuda::Graph> EmulatedDevice::EndCapture() {
  capturing_ = false;
  return std::make_unique<EmulatedGraph>(std::exchange(captured_, {}));
}

void EmulatedDevice::Replay(cuda::Graph& graph) {
  ++g_replays;
  for (const std::function<void()>& work : static_cast<EmulatedGraph&>(graph).work) Enqueue(work);
}

void EmulatedDevice::Enqueue(std::function<void()> work) {
  if (!ok()) return;
  if (capturing_) {
    captured_.push_back(std::move(work));
    return;
  }
  gpu_->Enqueue(stream_, std::move(work));
  NoteFailure();
}

void EmulatedDevice::FailAfter(int64_t launches, bool lasts) { gpu_->FailAfter(launches, lasts); }
void EmulatedDevice::Limit(size_t bytes) { gpu_->Limit(bytes); }
void EmulatedDevice::FailAllocation(int64_t allocations, bool pinned) { gpu_->FailAllocation(allocations, pinned); }

void EmulatedDevice::NoteFailure() {
  if (g_lost) return Fail(kIllegalAddress, "a call after an error that lasts");
  if (gpu_->failed()) Fail(gpu_->failure_lasts() ? kIllegalAddress : kOutOfResources, "a kernel");
}

void EmulatedDevice::RecordEvent(int event) { events_[event] = gpu_->given(stream_); }

bool EmulatedDevice::EventPassed(int event) {
  gpu_->RunSome();
  NoteFailure();
  return gpu_->done(stream_) >= events_[event];
}

void EmulatedDevice::WaitForEvent(int event) { RunUntil(events_[event]); }

std::string EmulatedDevice::ErrorText(int error) const {
  switch (error) {
    case kIllegalAddress:
      return "an illegal memory access was encountered";
    case kOutOfResources:
      return "too many resources requested for launch";
    case kInvalidConfiguration:
      return "invalid configuration argument";
    default:
      return "error " + std::to_string(error);
  }
}

bool EmulatedDevice::ErrorLasts() {
  if (gpu_->failed() && gpu_->failure_lasts()) g_lost = true;
  return g_lost;
}

}  // namespace salient::emulation
