// A queue of documents of streams for which their engine's queue had no room. Admission is retried when there may be
// room.
//
// The retries run in a thread of this queue, because they are too much work for an engine's thread. Nudge wakes it when
// a document leaves an engine. A place also becomes free when a document moves from an engine's queue into its batch,
// for which there is no event; therefore the thread also retries every 20 ms while a document waits.
//
// Thread safety: all methods may be called from any thread. Attempts run one at a time, without a lock held.

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
  // Returns true when the document no longer waits: it was admitted, or has failed permanently.
  using Attempt = std::function<bool()>;

  AdmissionRetryQueue();
  ~AdmissionRetryQueue();  // drops the documents that still wait

  // Adds a document. `queue` identifies the engine; documents for the same engine are retried in order of arrival.
  void Wait(const void* queue, Attempt attempt);

  // Triggers a retry. Never blocks.
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
