// The memory for bodies of requests that arrive, which clients share.
//
// A client may hold at most four times what is then left (dynamic thresholds; Choudhury and Hahne, IEEE/ACM
// Transactions on Networking 6(2), 1998). So a single client may take four fifths of the memory, two clients four
// ninths each, and something is left for one that comes later.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace salient {

class BodyMemory {
 public:
  explicit BodyMemory(size_t bytes) : left_(bytes) {}

  // False, and nothing is taken, if `client` would have more than its share.
  bool Take(const std::string& client, size_t bytes);
  // Gives back what was taken.
  void Return(const std::string& client, size_t bytes);

 private:
  std::mutex mutex_;
  size_t left_;
  std::map<std::string, size_t> of_;  // clients that hold something
};

}  // namespace salient
