// A queue of documents of streams that could not be admitted when they came. Admission is retried when it may succeed.
//
// The retries run in a thread of this queue, because they are too much work for an engine's thread. Nudge wakes it when
// a document leaves an engine. A place also becomes free when a document moves from an engine's queue into its batch,
// for which there is no event; therefore the thread also retries every 20 ms while a document waits.
//
// Thread safety: all methods may be called from any thread. Attempts run one at a time, without a lock held.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace salient {

class AdmissionRetryQueue {
 public:
  struct Waiting {
    // Returns true when the document no longer waits: it was admitted, or has failed permanently.
    std::function<bool()> attempt;
    // Whether there is nothing to wait for any more: it was cancelled, or its deadline has passed. The attempt is then
    // made at once, wherever the document stands. Called with a lock held; must be cheap.
    std::function<bool()> over;
  };

  AdmissionRetryQueue();
  ~AdmissionRetryQueue();  // drops the documents that still wait

  // Adds a document of a client for an engine. Those of one client for one engine are retried in order of arrival. If a
  // client's first document cannot be admitted, only its own documents wait behind it: the cause may be its own limit.
  // Among clients, who came first is tried first.
  void Wait(const void* engine, const std::string& client, Waiting document);

  // Triggers a retry. Never blocks.
  void Nudge();

 private:
  using Key = std::pair<const void*, std::string>;  // engine, client
  struct Entry {
    int64_t number;  // in order of arrival
    Waiting document;
  };

  void Run();
  void EndThoseThatAreOver();
  void TryAll();
  // Returns the document of this key that is the first one now.
  std::optional<Entry> Erase(const Key& key, int64_t number);

  std::mutex mutex_;
  std::condition_variable wake_;
  bool nudged_ = false;
  bool stopping_ = false;
  int64_t arrived_ = 0;
  std::map<Key, std::deque<Entry>> queues_;  // none of them is empty
  std::thread thread_;
};

}  // namespace salient
