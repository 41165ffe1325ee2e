#include "engine/key_memory.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/backend/backend.h"
#include "engine/core/page_pool.h"
#include "engine/decode/key_stores.h"

namespace salient {

static_assert(KeyMemory::kMost / static_cast<int64_t>(kPageUnit) <= int64_t{kMostPageUnits} + 1);

absl::StatusOr<std::shared_ptr<KeyPools>> KeyMemory::On(const std::string& device, Backend& backend) {
  std::unique_lock lock(places_->mutex);
  Place& place = places_->by_device[device];
  while (place.taken) {
    if (std::shared_ptr<KeyPools> pools = place.pools.lock(); pools != nullptr) return pools;
    places_->freed.wait(lock);
  }
  if (bytes_ > kMost) {
    return absl::InvalidArgumentError(absl::StrCat("--kv-memory is ", bytes_, " bytes; the most is ", kMost));
  }
  const size_t free = backend.memory().free_bytes();
  if (static_cast<size_t>(bytes_) > free) {
    return absl::ResourceExhaustedError(absl::StrCat("--kv-memory asks for ", bytes_,
                                                     " bytes; beside the model the GPU has ", free,
                                                     " left: ask for less, or end what else uses the GPU"));
  }
  auto made = std::make_unique<KeyPools>(backend.memory(), bytes_);
  if (const absl::Status status = backend.status(); !status.ok()) return status;
  std::shared_ptr<KeyPools> pools(made.release(), [places = places_, &place](KeyPools* unused) {
    delete unused;
    std::lock_guard freed(places->mutex);
    place = {};  // also the weak_ptr, which keeps this function and with it the places
    places->freed.notify_all();
  });
  place = {pools, true};
  return pools;
}

}  // namespace salient
