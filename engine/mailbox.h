// What callers and workers tell the step loop between its turns: that there is something to do, and which documents are
// no longer wanted. Outlives the engine for tickets that are cancelled late.
//
// Thread safety: all methods may be called from any thread; the waits and TakeCancelled are the step loop's.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "engine/api/result.h"

namespace salient {

class Mailbox {
 public:
  void Ring();
  void Cancel(int64_t document);

  // Until something was told since the last wait.
  void WaitFor(absl::Duration time);  // no longer than this
  void WaitUntil(absl::Time time);    // then at the latest
  std::vector<int64_t> TakeCancelled();
  // For the next turn, without a ring: the document is just being delivered, which rings.
  void PutBack(const std::vector<int64_t>& cancelled);

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool rung_ = false;
  std::vector<int64_t> cancelled_;
};

class Ticket : public TranslationTicket {
 public:
  Ticket(int64_t document, std::shared_ptr<Mailbox> mailbox) : document_(document), mailbox_(std::move(mailbox)) {}
  void Cancel() override {
    if (!cancelled_.exchange(true)) mailbox_->Cancel(document_);
  }

 private:
  const int64_t document_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace salient
