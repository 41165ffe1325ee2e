// The queue of messages to be written to a streaming call. gRPC writes one message at a time, and the engine must not
// wait. Messages are written in order. Of progress messages only the latest is kept, and it is written only if nothing
// else waits. The queue is bounded: if the reader is too slow, the call is cancelled.
//
// Use: after every Push, SetProgress, Close and Written, call Next, and do what it returns. It returns "write" and
// "finish" to one thread only, and "finish" once.
//
// Each message may keep something until it has been written or dropped.
//
// Thread safety: all methods may be called from any thread; only the caller that Next selected may use current() and
// status().

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"
#include "server/rpc/reactor_order.h"

namespace salient {

class Outbox {
 public:
  enum class Act {
    kNothing,
    kWrite,   // write current(), then call Written
    kFinish,  // finish the call with status(); the last action
  };

  // False if more than kMaxUnsentBytes would wait. Then this and all later messages are refused; cancel the call.
  bool Push(grpc::ByteBuffer message, std::shared_ptr<void> keep = nullptr);
  void SetProgress(grpc::ByteBuffer message);

  // Finishes the call with `status` after all pushed messages are written. Later calls of Push and Close have no
  // effect.
  void Close(grpc::Status status);

  // Reports the result of writing the current message. After a failed write the rest is dropped.
  void Written(bool ok);

  Act Next();
  const grpc::ByteBuffer* current() const { return &current_; }
  const grpc::Status& status() const { return *status_; }

  size_t unsent() const;
  size_t unsent_bytes() const;
  // Number of messages written; writing(): whether one is being written.
  uint64_t written() const;
  bool writing() const;

  // Four times the translation, with its source, of the largest document allowed by default.
  static constexpr size_t kMaxUnsentBytes = 64 << 20;

 private:
  struct Message {
    grpc::ByteBuffer bytes;
    std::shared_ptr<void> keep;
  };

  mutable std::mutex mutex_;
  std::deque<Message> messages_;
  std::optional<grpc::ByteBuffer> progress_;
  std::optional<grpc::Status> status_;
  grpc::ByteBuffer current_;
  std::shared_ptr<void> keep_;  // of current_, while it is written
  size_t bytes_ = 0;            // of messages_
  uint64_t written_ = 0;
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
};

// Calls Next and performs the action, for a call's reactor.
template <class Reactor>
void Pump(Outbox& outbox, Reactor& reactor) {
  switch (outbox.Next()) {
    case Outbox::Act::kWrite:
      ShowHandOver(&reactor);
      reactor.StartWrite(outbox.current());
      break;
    case Outbox::Act::kFinish:
      ShowHandOver(&reactor);
      reactor.Finish(outbox.status());
      break;
    case Outbox::Act::kNothing:
      break;
  }
}

}  // namespace salient
