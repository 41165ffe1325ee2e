#include "server/http/body_memory.h"

namespace salient {

constexpr size_t kTimesWhatIsLeft = 4;

bool BodyMemory::Take(const std::string& client, size_t bytes) {
  if (bytes == 0) return true;
  std::lock_guard lock(mutex_);
  const auto found = of_.find(client);
  const size_t holds = found == of_.end() ? 0 : found->second;
  if (bytes > left_ || holds + bytes > kTimesWhatIsLeft * (left_ - bytes)) return false;
  left_ -= bytes;
  of_[client] = holds + bytes;
  return true;
}

void BodyMemory::Return(const std::string& client, size_t bytes) {
  if (bytes == 0) return;
  std::lock_guard lock(mutex_);
  left_ += bytes;
  const auto found = of_.find(client);
  if ((found->second -= bytes) == 0) of_.erase(found);
}

}  // namespace salient
