// A CUDA device through the runtime API.

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/core/cuda/device.h"

namespace salient::cuda {
namespace {

// Ampere: cp.async, and mma of bf16.
constexpr int kLeastCapability = 80;

// An error that lasts has been seen in this process.
std::atomic<bool> g_lost{false};

class RuntimeGraph final : public Graph {
 public:
  explicit RuntimeGraph(cudaGraphExec_t graph) : graph(graph) {}
  ~RuntimeGraph() override { cudaGraphExecDestroy(graph); }
  const cudaGraphExec_t graph;
};

class RuntimeDevice final : public Device {
 public:
  explicit RuntimeDevice(const cudaDeviceProp& properties) : properties_(properties), first_(true) { Open(); }
  // A stream beside the first.
  RuntimeDevice(const cudaDeviceProp& properties, std::shared_ptr<absl::Status> errors)
      : Device(std::move(errors)), properties_(properties), first_(false) {
    Open();
  }
  // After an error that lasts nothing can be given back. No cudaDeviceReset: it would take the memory of every other
  // engine of the process, and after an error that lasts NVIDIA documents no way but the end of the process.
  ~RuntimeDevice() override {
    if (g_lost) return;
    cudaStreamSynchronize(stream_);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
    cudaEventDestroy(after_);
    cudaStreamDestroy(stream_);
  }

  std::string Name() const override {
    return absl::StrCat(properties_.name, ", sm_", properties_.major, properties_.minor);
  }
  size_t free_bytes() const override {
    size_t free = 0, total = 0;
    return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
  }
  size_t shared_bytes() const override { return properties_.sharedMemPerBlockOptin; }
  int multiprocessors() const override { return properties_.multiProcessorCount; }
  bool overlaps_launches() const override { return properties_.major >= 9; }
  void* stream() override { return stream_; }

  std::unique_ptr<Device> OpenStream() override {
    return std::make_unique<RuntimeDevice>(properties_, shared_errors());
  }
  void After(Device& other) override {
    if (!ok()) return;
    Check(cudaEventRecord(after_, static_cast<RuntimeDevice&>(other).stream_), "cudaEventRecord");
    if (ok()) Check(cudaStreamWaitEvent(stream_, after_, 0), "cudaStreamWaitEvent");
  }

  void* Allocate(size_t bytes) override {
    void* pointer = nullptr;
    if (cudaMalloc(&pointer, bytes) == cudaSuccess) return pointer;
    cudaGetLastError();  // else a later call may report it
    return nullptr;
  }
  // cudaFree waits for the device, so that nothing still uses it.
  void Free(void* pointer) override { cudaFree(pointer); }
  std::shared_ptr<std::byte> AllocateShared(size_t bytes) override {
    return {static_cast<std::byte*>(Allocate(bytes)), [](std::byte* pointer) { cudaFree(pointer); }};
  }
  void* AllocatePinned(size_t bytes) override {
    void* pointer = nullptr;
    if (cudaHostAlloc(&pointer, bytes, cudaHostAllocPortable | cudaHostAllocMapped) == cudaSuccess) return pointer;
    cudaGetLastError();
    return nullptr;
  }
  // A failed allocation leaves copies under way, so this waits although the device has failed.
  void FreePinned(void* pointer) override {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(pointer);
  }

  void Zero(void* device, size_t bytes) override {
    if (ok()) Check(cudaMemsetAsync(device, 0, bytes, stream_), "cudaMemset");
  }
  // The addresses say what is copied where: what the tests of operations take for device memory may be pinned. CUDA may
  // read ordinary memory after the call, where the GPU can reach it.
  void CopyToDevice(void* device, const void* host, size_t bytes) override {
    if (!ok()) return;
    Check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyDefault, stream_), "a copy to the GPU");
    cudaPointerAttributes attributes = {};
    const bool pinned =
        cudaPointerGetAttributes(&attributes, host) == cudaSuccess && attributes.type == cudaMemoryTypeHost;
    if (!pinned) Synchronize();
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    if (!ok()) return;
    Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDefault, stream_), "a copy from the GPU");
    Synchronize();
  }
  // Also from one place of the device to another (CopyOnDevice of cuda_backend.h).
  void StartCopyToHost(void* pinned, const void* device, size_t bytes) override {
    if (ok()) Check(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDefault, stream_), "a copy from the GPU");
  }
  void Synchronize() override {
    if (ok()) Check(cudaStreamSynchronize(stream_), "a kernel");
  }

  void BeginCapture() override {
    if (ok()) Check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  }
  std::unique_ptr<Graph> EndCapture() override {
    cudaGraph_t graph = nullptr;
    Check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    if (graph == nullptr) return nullptr;
    cudaGraphExec_t made = nullptr;
    if (ok()) Check(cudaGraphInstantiate(&made, graph, 0), "cudaGraphInstantiate");
    cudaGraphDestroy(graph);
    return ok() ? std::make_unique<RuntimeGraph>(made) : nullptr;
  }
  void Replay(Graph& graph) override {
    if (ok()) Check(cudaGraphLaunch(static_cast<RuntimeGraph&>(graph).graph, stream_), "cudaGraphLaunch");
  }

 protected:
  std::string ErrorText(int error) const override { return cudaGetErrorString(static_cast<cudaError_t>(error)); }
  // A context that is lost answers every call with an error; another error is forgotten once it was asked for. What is
  // refused because a graph is being captured says nothing of the context.
  bool ErrorLasts() override {
    cudaGetLastError();
    size_t free = 0, total = 0;
    const cudaError_t answer = cudaMemGetInfo(&free, &total);
    const bool capturing = answer >= cudaErrorStreamCaptureUnsupported && answer <= cudaErrorStreamCaptureWrongThread;
    if (answer != cudaSuccess && !capturing) g_lost = true;
    return g_lost;
  }

  void RecordEvent(int event) override {
    if (ok()) Check(cudaEventRecord(events_[event], stream_), "cudaEventRecord");
  }
  bool EventPassed(int event) override {
    const cudaError_t state = cudaEventQuery(events_[event]);
    if (state != cudaErrorNotReady) Check(state, "a kernel");
    return state == cudaSuccess;
  }
  void WaitForEvent(int event) override { Check(cudaEventSynchronize(events_[event]), "a kernel"); }

 private:
  // The streams beside the first one give way to it.
  void Open() {
    int least = 0, greatest = 0;
    Check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    Check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, first_ ? greatest : least), "cudaStreamCreate");
    for (cudaEvent_t& event : events_)
      Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    Check(cudaEventCreateWithFlags(&after_, cudaEventDisableTiming), "cudaEventCreate");
  }

  const cudaDeviceProp properties_;
  const bool first_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, kEvents> events_ = {};
  cudaEvent_t after_ = nullptr;
};

absl::Status NoGpu(const std::string& why) { return absl::UnavailableError(absl::StrCat("no usable GPU: ", why)); }

}  // namespace

absl::StatusOr<std::unique_ptr<Device>> OpenDevice() {
  if (g_lost) return ProcessHasLostItsGpu();
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    return NoGpu(cudaGetErrorString(error));
  }
  if (count == 0) return NoGpu("the driver finds none");
  cudaDeviceProp properties = {};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess) {
    return NoGpu(cudaGetErrorString(error));
  }
  if (properties.major * 10 + properties.minor < kLeastCapability) {
    return NoGpu(absl::StrCat(properties.name, " has compute capability ", properties.major, ".", properties.minor,
                              "; 8.0 is the least"));
  }
  auto device = std::make_unique<RuntimeDevice>(properties);
  if (!device->ok()) return device->status();
  return device;
}

}  // namespace salient::cuda
