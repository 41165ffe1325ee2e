// The memory for the keys and values of several engines, which they share on every device: each takes what its
// documents need at the time (engine/core/page_pool.h has the rules).

#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace salient {

class Backend;
struct KeyPools;

// Thread safe.
class KeyMemory {
 public:
  static constexpr int64_t kMost = 256LL << 30;

  // Of so many bytes on each device, at most kMost.
  explicit KeyMemory(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes() const { return bytes_; }

  // The pools on the device of this name, which `backend` is on. They are allocated when no engine has them, and freed
  // with the last engine that does: if another thread is freeing them, this waits for the end of that.
  // RESOURCE_EXHAUSTED if the device has less memory left.
  absl::StatusOr<std::shared_ptr<KeyPools>> On(const std::string& device, Backend& backend);

 private:
  struct Place {
    std::weak_ptr<KeyPools> pools;
    bool taken = false;  // until the pools are freed, which is after the weak_ptr has expired
  };
  // Pools may outlive the KeyMemory that made them.
  struct Places {
    std::mutex mutex;
    std::condition_variable freed;
    std::map<std::string, Place> by_device;
  };

  const int64_t bytes_;
  const std::shared_ptr<Places> places_ = std::make_shared<Places>();
};

}  // namespace salient
