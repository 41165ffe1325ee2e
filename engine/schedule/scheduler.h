// Which windows join, pass by pass of the encoder, and which one gives way when memory runs short.
//
// Documents wait in the order in which they came; each is a queue of windows. A window joins when its rows and its
// pages are free and the pass has room for it. Documents take turns window by window, so that a book does not hold up a
// letter; but the one whose turn it is waits at the front until it fits, so that none starves.
//
// Of the pages for a translation's own keys only as many are reserved as one of usual length takes, since few are as
// long as they may become. One that grows longer reserves more; when none are left, the youngest window is suspended:
// it gives back all it has, waits before all others, and joins again, from its beginning, with its greatest length
// reserved. The oldest is never suspended, and alone it always fits: so something always goes on, and every window
// becomes the oldest.
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
  int32_t source_tokens = 0;   // to encode
  int32_t expected_pages = 0;  // of the self_pages, what a translation of usual length takes
};

// A window by its place in a document.
struct Admission {
  int64_t document = 0;
  int32_t window = 0;
  friend bool operator==(const Admission&, const Admission&) = default;
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
  // Forgets windows of the document that are not in flight.
  void Cancel(int64_t document);

  // The encoder is free for another pass.
  void BeginPass();
  // The next window to join, its demand reserved; none if nothing waits or what is next does not fit. A window larger
  // than a pass joins as the only one of its pass.
  std::optional<Admission> Admit();
  // Reserves what is missing to `self_pages` in all, at most the window's demand. False, and nothing reserved, if there
  // are not as many; then the youngest is to be suspended, which may be this one.
  bool Grow(const Admission& window, int32_t self_pages);
  // In flight, in the order in which they joined.
  std::vector<Admission> InFlight() const;
  // A window in flight, the youngest, gives back what it had reserved and waits to be admitted again.
  Admission SuspendYoungest();
  // A window has left; returns what it had reserved.
  void Release(const Admission& window);

  bool idle() const { return waiting_.empty() && suspended_.empty(); }
  // Documents of which no window was admitted yet.
  int32_t untouched() const;

 private:
  struct Entry {
    int64_t document = 0;
    std::vector<Demand> windows;
    int32_t next = 0;
  };
  struct Window {
    Admission name;
    Demand demand;
    int32_t self_reserved = 0;
  };

  bool FitsNow(const Demand& demand, int32_t self_pages) const;
  void Seat(const Window& window);
  void GiveBack(const Window& window);
  std::vector<Window>::iterator Find(const Admission& name);

  const Limits limits_;
  std::deque<Entry> waiting_;
  std::deque<Window> suspended_;   // oldest first
  std::vector<Window> in_flight_;  // oldest first
  Demand reserved_;                // rows and pages in flight; source_tokens and pass_windows_ of this pass
  int32_t pass_windows_ = 0;
};

}  // namespace salient
