// The documents in flight, so that a server can finish or cancel all of them before it stops.
//
// Thread safety: all methods may be called from any thread. Callbacks and tickets are called without a lock held.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "engine/engine.h"

namespace salient {

// Cancels a ticket, also before it exists: a call can be cancelled while its document is being submitted.
class Cancellation {
 public:
  void Attach(std::shared_ptr<TranslationTicket> ticket);
  void Cancel();
  bool cancelled() const;

 private:
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::shared_ptr<TranslationTicket> ticket_;
};

class InFlight {
 public:
  // The slot of a document, which is in flight until the slot is destroyed.
  class Slot {
   public:
    Slot(InFlight& owner, uint64_t id) : owner_(owner), id_(id) {}
    ~Slot() { owner_.Leave(id_); }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    uint64_t id() const { return id_; }

   private:
    InFlight& owner_;
    const uint64_t id_;
  };

  // UNAVAILABLE after StartDraining.
  absl::StatusOr<std::unique_ptr<Slot>> Enter();

  // Adds a ticket with which CancelAll cancels the document: one that waits for its model has another one later. Does
  // nothing if its slot is already destroyed.
  void AddTicket(uint64_t id, const std::shared_ptr<TranslationTicket>& ticket);

  // Refuses new documents from now on. Calls all callbacks of OnDrain whose owners are still alive.
  void StartDraining();
  bool draining() const;

  // `callback` is called once, when draining starts, or at once if it has started already.
  void OnDrain(std::weak_ptr<void> owner, std::function<void()> callback);

  // Waits until nothing is in flight; false if that takes longer than `timeout`.
  bool WaitIdle(absl::Duration timeout);

  // Cancels all documents in flight, and returns their number. From now on stopped() distinguishes a cancellation by
  // the server from one by the client.
  int CancelAll();
  bool stopped() const;

  int size() const;

 private:
  struct Watcher {
    std::weak_ptr<void> owner;
    std::function<void()> callback;
  };

  void Leave(uint64_t id);

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool draining_ = false;
  bool stopped_ = false;
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::vector<std::weak_ptr<TranslationTicket>>> documents_;
  std::vector<Watcher> watchers_;
};

}  // namespace salient
