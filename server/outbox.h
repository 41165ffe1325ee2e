// What is still to be written to a streaming call. gRPC takes one message at a time; an engine has several to tell and
// may not wait. Messages go out in the order in which they came, progress only as its latest state and only when there
// is nothing else. What waits is bounded: a reader that is so far behind loses the call.
//
// Use: after every Push, SetProgress, Close and Written, call Next, and do what it says. It says "write" and "finish"
// to one thread only, and "finish" once.
//
// Thread safety: all methods may be called from any thread; only the caller that Next selected may use current() and
// status().

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"

namespace salient {

class Outbox {
 public:
  enum class Act {
    kNothing,
    kWrite,   // write current(), and call Written when that is done
    kFinish,  // finish the call with status(); nothing comes after it
  };

  // False if more than kMaxUnsentBytes would wait: nothing was taken, and nothing more is; the call is to be cancelled.
  bool Push(grpc::ByteBuffer message);
  void SetProgress(grpc::ByteBuffer message);

  // To be finished with `status` when all that was pushed is written. Later calls of Push and Close change nothing.
  void Close(grpc::Status status);

  // Of the message that Next gave out. After a failed write the reader is gone: the rest is dropped.
  void Written(bool ok);

  Act Next();
  const grpc::ByteBuffer* current() const { return &current_; }
  const grpc::Status& status() const { return *status_; }

  size_t unsent() const;
  // Grows with every message that was written; writing() while one is on its way.
  uint64_t written() const;
  bool writing() const;

  // A translation of the largest document by default, with its source, four times over.
  static constexpr size_t kMaxUnsentBytes = 64 << 20;

 private:
  mutable std::mutex mutex_;
  std::deque<grpc::ByteBuffer> messages_;
  std::optional<grpc::ByteBuffer> progress_;
  std::optional<grpc::Status> status_;
  grpc::ByteBuffer current_;
  size_t bytes_ = 0;  // of messages_
  uint64_t written_ = 0;
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
};

// Calls Next and does what it says, for a call's reactor.
template <class Reactor>
void Pump(Outbox& outbox, Reactor& reactor) {
  switch (outbox.Next()) {
    case Outbox::Act::kWrite:
      reactor.StartWrite(outbox.current());
      break;
    case Outbox::Act::kFinish:
      reactor.Finish(outbox.status());
      break;
    case Outbox::Act::kNothing:
      break;
  }
}

}  // namespace salient
