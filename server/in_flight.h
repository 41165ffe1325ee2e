// The documents that are being translated, so that a server can stop without losing one.
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

// A ticket that may be cancelled before it exists: a call can be cancelled while its document is being submitted.
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
  // A document's slot. It is in flight until the slot is destroyed.
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

  // UNAVAILABLE from StartDraining on.
  absl::StatusOr<std::unique_ptr<Slot>> Enter();

  // Lets CancelAll reach the document. Does nothing if its slot is given up already.
  void SetTicket(uint64_t id, const std::shared_ptr<TranslationTicket>& ticket);

  // From now on nothing enters. Calls every callback that OnDrain was given and whose owner still lives.
  void StartDraining();
  bool draining() const;

  // `callback` is called once, when draining starts, or at once if it has started already.
  void OnDrain(std::weak_ptr<void> owner, std::function<void()> callback);

  // Waits until nothing is in flight; false if that takes longer than `timeout`.
  bool WaitIdle(absl::Duration timeout);

  // Cancels all that is in flight, and returns how many that were. From now on stopped() tells a cancellation by the
  // server apart from one by the client.
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
  std::map<uint64_t, std::weak_ptr<TranslationTicket>> documents_;
  std::vector<Watcher> watchers_;
};

}  // namespace salient
