// Documents of a stream that their engine's queue had no room for, tried again when room may have come.
//
// A thread of the room's own makes the attempts, because submitting a document cuts it into tokens, which is too much
// work for an engine's thread. It is woken by Nudge when a document leaves an engine; since a place in the queue also
// falls free when a document moves from the queue into the batch, of which nobody hears, it looks every 20 ms as well
// while anybody waits.
//
// Thread safety: all methods may be called from any thread. Attempts are made one at a time, without a lock held.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace salient {

class AdmissionRetryQueue {
 public:
  // Returns true when the document no longer waits: admitted, or failed for good.
  using Attempt = std::function<bool()>;

  AdmissionRetryQueue();
  ~AdmissionRetryQueue();  // those still waiting are dropped

  // First come, first served among those who wait for the same engine, which `queue` stands for.
  void Wait(const void* queue, Attempt attempt);

  // Something may have changed. Never blocks.
  void Nudge();

 private:
  void Run();
  void TryAll();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool nudged_ = false;
  bool stopping_ = false;
  std::map<const void*, std::deque<Attempt>> queues_;
  std::thread thread_;
};

}  // namespace salient
