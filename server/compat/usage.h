// The number of characters translated for each client since the server started.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace salient {

class Usage {
 public:
  // Keeps the counts of at most `max_clients` clients, the ones seen last.
  explicit Usage(size_t max_clients = 4096) : max_clients_(max_clients) {}

  void Add(const std::string& client, int64_t characters);
  int64_t Of(const std::string& client) const;

 private:
  using Counts = std::list<std::pair<std::string, int64_t>>;  // the latest first

  const size_t max_clients_;
  mutable std::mutex mutex_;
  Counts counts_;
  std::map<std::string, Counts::iterator> places_;
};

}  // namespace salient
