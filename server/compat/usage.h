// How many characters each client has had translated since the server began.
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
  // Of so many clients; those that were not there for the longest time are forgotten.
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
