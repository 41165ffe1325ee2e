#include "server/compat/usage.h"

namespace salient {

void Usage::Add(const std::string& client, int64_t characters) {
  std::lock_guard lock(mutex_);
  const auto found = places_.find(client);
  if (found != places_.end()) {
    counts_.splice(counts_.begin(), counts_, found->second);
  } else {
    if (counts_.size() == max_clients_) {
      places_.erase(counts_.back().first);
      counts_.pop_back();
    }
    counts_.emplace_front(client, 0);
    places_[client] = counts_.begin();
  }
  counts_.front().second += characters;
}

int64_t Usage::Of(const std::string& client) const {
  std::lock_guard lock(mutex_);
  const auto found = places_.find(client);
  return found == places_.end() ? 0 : found->second->second;
}

}  // namespace salient
