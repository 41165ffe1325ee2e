// Which windows join, pass by pass of the encoder.
//
// Documents wait in the order in which they came; each is a queue of windows. A window joins when its rows and its
// pages, reserved for the longest translation it may get, are free and the pass has room for it; so
// memory never runs out under way. Documents take turns window by window, so that a book does not hold up a letter;
// but the one whose turn it is waits at the front until it fits, so that none starves.
//
// Knows sizes, no tensors. Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace salient {

// What a window needs while it is in flight.
struct Demand {
  int32_t rows = 0;        // hypotheses
  int32_t self_pages = 0;  // at most
  int32_t cross_pages = 0;
  int32_t source_tokens = 0;  // to encode
};

struct Admission {
  int64_t document = 0;
  int32_t window = 0;
};

class Scheduler {
 public:
  struct Limits {
    int32_t rows = 0, self_pages = 0, cross_pages = 0;
    int32_t encode_tokens = 0;   // a pass
    int32_t encode_windows = 0;  // a pass
  };

  explicit Scheduler(const Limits& limits) : limits_(limits) {}

  // Whether the window could run in an empty engine.
  bool CouldFit(const Demand& demand) const {
    return demand.rows <= limits_.rows && demand.self_pages <= limits_.self_pages &&
           demand.cross_pages <= limits_.cross_pages;
  }

  // Needs CouldFit for every window. `document` is a name of the caller's choice.
  void Enqueue(int64_t document, std::vector<Demand> windows);
  // Forgets windows of the document that have not been admitted.
  void Cancel(int64_t document);

  // The encoder is free for another pass.
  void BeginPass();
  // The next window to join, its demand reserved; none if nothing waits or what is next does not fit. A window larger
  // than a pass joins as the only one of its pass.
  std::optional<Admission> Admit();
  // A window has left; returns what it had reserved.
  void Release(const Demand& demand);

  bool idle() const { return waiting_.empty(); }
  // Documents of which no window was admitted yet.
  int32_t untouched() const;

 private:
  struct Entry {
    int64_t document = 0;
    std::vector<Demand> windows;
    int32_t next = 0;
  };

  bool FitsNow(const Demand& demand) const;

  const Limits limits_;
  std::deque<Entry> waiting_;
  Demand reserved_;  // rows and pages in flight; source_tokens and pass_windows_ of this pass
  int32_t pass_windows_ = 0;
};

}  // namespace salient
