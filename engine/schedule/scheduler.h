// Which chunks are encoded, pass by pass; which of them are decoded then; and which one gives way when memory runs
// short.
//
// Documents wait in the order in which they came; each is a queue of chunks. A chunk is encoded when the pages for
// its source are free and the pass has room for it, even if no rows are free yet: by as many rows as decode at once,
// chunks are encoded ahead. Documents take turns chunk by chunk, so that a book does not hold up a letter; but the
// one whose turn it is waits at the front until it fits, so that none starves.
//
// Once a chunk is encoded it is known how deep its tokens go at most (depth policies FULL, FIXED and SEQUENCE) or may
// go (the others), and it gets rows when they are free. A layer costs a step hardly less for one row than for many, so
// chunks of one depth follow one another: first those of the depth of the chunk before, in their order, for as many
// chunks as there are rows; then the one that has waited longest, whatever its depth, and those of its depth after it.
//
// Of the pages for a translation's own keys only as many are reserved as one of usual length takes, since few are as
// long as they may become. One that grows longer reserves more; when none are left, the youngest chunk is preempted:
// it gives back all it has, waits before all others, and begins again, with its greatest length reserved. Until it has
// rows, no other gets any. The oldest is never preempted, and alone it always fits: so something always goes on, and
// every chunk becomes the oldest.
//
// Knows sizes, no tensors. Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace salient {

// What a chunk needs while it is in flight.
struct Demand {
  int32_t rows = 0;        // hypotheses
  int32_t self_pages = 0;  // at most
  int32_t cross_pages = 0;
  int32_t source_tokens = 0;   // to encode
  int32_t expected_pages = 0;  // of the self_pages, what a translation of usual length takes
};

// A chunk by its place in a document.
struct Admission {
  int64_t document = 0;
  int32_t chunk = 0;
  friend bool operator==(const Admission&, const Admission&) = default;
};

class Scheduler {
 public:
  struct Limits {
    int32_t rows = 0, self_pages = 0, cross_pages = 0;
    int32_t encode_tokens = 0;  // a pass
    int32_t encode_chunks = 0;  // a pass
  };

  explicit Scheduler(const Limits& limits) : limits_(limits) {}

  // Whether the chunk could run in an empty engine.
  bool CouldFit(const Demand& demand) const {
    return demand.rows <= limits_.rows && demand.self_pages <= limits_.self_pages &&
           demand.cross_pages <= limits_.cross_pages;
  }

  // Needs CouldFit for every chunk. `document` is a name of the caller's choice.
  void Enqueue(int64_t document, std::vector<Demand> chunks);
  // Forgets chunks of the document that are not in flight.
  void Cancel(int64_t document);

  // The encoder is free for another pass.
  void BeginPass();
  // The next chunk to encode, the pages for its source reserved; none if nothing waits or what is next does not fit. A
  // chunk larger than a pass is the only one of its pass.
  std::optional<Admission> Admit();
  // Admitted, and not encoded yet.
  std::vector<Admission> Encoding() const;
  // An admitted chunk is encoded; its tokens run at most `depth` decoder layers.
  void MarkEncoded(const Admission& chunk, int32_t depth);
  // The next chunk to decode, its rows and pages reserved; none if none is encoded or what is next does not fit.
  std::optional<Admission> ScheduleNext();
  // Reserves what is missing to `self_pages` in all, at most the chunk's demand, for a chunk that is decoded. False,
  // and nothing reserved, if there are not as many; then the youngest is to be preempted, which may be this one.
  bool Grow(const Admission& chunk, int32_t self_pages);
  // Those that are decoded, in the order in which they began.
  std::vector<Admission> Running() const;
  // The youngest of them gives back what it had reserved and waits to be admitted again.
  Admission PreemptYoungest();
  // A chunk, admitted or scheduled, has left; returns what it had reserved.
  void Release(const Admission& chunk);

  bool idle() const { return waiting_.empty() && preempted_.empty(); }
  // Documents of which no chunk was admitted yet.
  int32_t untouched() const;

 private:
  struct Entry {
    int64_t document = 0;
    std::vector<Demand> chunks;
    int32_t next = 0;
  };
  struct Chunk {
    Admission name;
    Demand demand;
    bool again = false;         // was preempted
    int32_t self_reserved = 0;  // once it is scheduled
    int32_t depth = 0;          // once it is encoded
  };
  using Chunks = std::vector<Chunk>;

  bool CanEncode(const Chunk& chunk) const;
  void Encode(Chunk chunk);
  Chunks::iterator NextToSchedule();
  static std::vector<Admission> Names(const Chunks& chunks);
  static Chunks::iterator Find(Chunks& chunks, const Admission& name);

  const Limits limits_;
  std::deque<Entry> waiting_;
  std::deque<Chunk> preempted_;          // oldest first
  Chunks encoding_, encoded_, running_;  // oldest first; of the encoded, those that were preempted before the others
  Demand reserved_;                      // rows and pages; source_tokens and pass_chunks_ of this pass
  int32_t pass_chunks_ = 0;
  int32_t rows_ahead_ = 0;  // wanted by chunks that are admitted and not scheduled
  int32_t depth_ = 0;       // of the chunk that was scheduled last
  int32_t overtaking_ = 0;  // chunks that were scheduled one after another before one that is older
};

}  // namespace salient
