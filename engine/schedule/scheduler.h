// Chooses the chunks of each encoder pass, the encoded chunks that are decoded, and the chunk that is preempted when
// memory runs out.
//
// Encoding. Clients share the encoder by weight, by deficit round robin over source tokens. A flow is a client's
// documents of one priority. At its turn a flow gets quantum * weight tokens, which its chunks use; it keeps the rest
// while it has more chunks. So a client with a thousand documents delays a single document of another client by no more
// than its fair share and the chunk in progress, whatever the lengths. Within a flow, documents take turns chunk by
// chunk, so that a long document does not block a short one. A chunk is encoded when the pages for its source are free
// and the pass has room for it, even if no rows are free yet: chunks are encoded ahead, for at most as many rows as
// decode at once, or for `rows_ahead`. The next chunk waits at the front until it fits, so none starves.
//
// Decoding. Once a chunk is encoded, the greatest depth of its tokens is known, and it gets rows when they are free. A
// layer costs a step nearly the same for one row as for many, so chunks of the same depth are scheduled one after
// another. After `max_rows` rows of such picks the oldest chunk runs, so none starves; chunks of its depth follow it.
// One that has no room yet does not hold back the oldest, which may have.
//
// Memory. Only the pages of a translation of usual length are reserved, since few become longer. A chunk that grows
// longer reserves more pages. If none are left, the youngest chunk is preempted: it returns its pages and rows, waits
// before all others, and starts again with its greatest length reserved. No other chunk gets rows before it does. The
// oldest chunk is never preempted, and alone it always fits, so some chunk always makes progress.
//
// If engines share memory (PageShare), free means that this one can have them too. A chunk that was preempted keeps the
// pages for its source: chunks that wait for it hold such pages, too, and two engines must not wait for each other.
//
// The time to admit or to cancel a document does not depend on the number of waiting documents.
//
// The scheduler handles sizes, not tensors. Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/core/page_pool.h"

namespace salient {

// The resources that a chunk needs while it is in flight.
struct Demand {
  int32_t rows = 0;        // hypotheses
  int32_t self_pages = 0;  // at most
  int32_t cross_pages = 0;
  int32_t source_tokens = 0;   // to encode
  int32_t expected_pages = 0;  // the self_pages of a translation of usual length
};

// A flow of documents that share the engine with other flows, and the weight of its share.
struct Flow {
  std::string client;
  bool bulk = false;
  double weight = 1;  // above 0; the weight of the flow's latest document counts
};

// A chunk, by its document and its index.
struct ChunkId {
  int64_t document = 0;
  int32_t chunk = 0;
  friend bool operator==(const ChunkId&, const ChunkId&) = default;
};

class Scheduler {
 public:
  struct Limits {
    int32_t rows = 0, self_pages = 0, cross_pages = 0;
    int32_t rows_ahead = 0;     // of chunks that are encoded beyond the rows that are free; 0: `rows`, whatever is free
    int32_t encode_tokens = 0;  // a pass
    int32_t encode_chunks = 0;  // a pass
    int32_t quantum = 512;      // tokens that a flow of weight 1 gets at a turn
  };

  // `self` and `cross` must outlive it; null: all pages within the limits may be used.
  explicit Scheduler(const Limits& limits, PageShare* self = nullptr, PageShare* cross = nullptr)
      : limits_(limits), self_(self), cross_(cross) {}
  const Limits& limits() const { return limits_; }

  // Whether the chunk could run in an empty engine.
  bool CouldFit(const Demand& demand) const {
    return demand.rows <= limits_.rows && demand.self_pages <= limits_.self_pages &&
           demand.cross_pages <= limits_.cross_pages;
  }

  // Requires CouldFit for every chunk. `document` is an id that the caller chooses.
  void Enqueue(int64_t document, std::vector<Demand> chunks, const Flow& flow = {});
  // Removes the chunks of the document that are not in flight.
  void Cancel(int64_t document);

  // Begins a new encoder pass.
  void BeginPass();
  // The next chunk to encode; the pages for its source are reserved. None if nothing waits or the next chunk does not
  // fit. A chunk larger than a pass is the only one in its pass.
  std::optional<ChunkId> Admit();
  // Chunks that are admitted and not encoded yet.
  std::vector<ChunkId> Encoding() const;
  // An admitted chunk has been encoded; its tokens run at most `depth` decoder layers.
  void MarkEncoded(const ChunkId& chunk, int32_t depth);
  // The next chunk to decode; its rows and pages are reserved. None if none is encoded or the next one does not fit.
  std::optional<ChunkId> ScheduleNext();
  // Reserves pages for a chunk that is decoded, up to `self_pages` in all, at most the chunk's demand. If too few pages
  // are free, reserves nothing and returns false; then the caller must preempt the youngest chunk, which may be this
  // one.
  bool Grow(const ChunkId& chunk, int32_t self_pages);
  // The chunks that are decoded, in the order in which they started.
  std::vector<ChunkId> Running() const;
  // Preempts the youngest running chunk: returns its reservations; the chunk waits to be admitted again.
  ChunkId PreemptYoungest();
  // An admitted or scheduled chunk has left; its reservations are returned.
  void Release(const ChunkId& chunk);

  // Pages that are reserved, including those of sources that are kept for chunks that were preempted.
  int32_t self_reserved() const { return reserved_.self_pages; }
  int32_t cross_reserved() const { return reserved_.cross_pages + kept_cross_pages_; }

  // Source tokens of the chunks that have never been admitted.
  int64_t tokens_waiting() const { return tokens_waiting_; }

 private:
  struct Entry {
    int64_t document = 0;
    std::vector<Demand> chunks;
    int32_t next = 0;
  };
  using Entries = std::list<Entry>;
  struct Queue {
    Flow flow;
    Entries documents;
    double deficit = 0;  // tokens that it may spend
  };
  using Queues = std::list<Queue>;
  struct Place {
    Queues::iterator flow;
    Entries::iterator entry;
  };
  struct Chunk {
    ChunkId id;
    Demand demand;
    bool again = false;         // was preempted
    int32_t self_reserved = 0;  // once it is scheduled
    int32_t depth = 0;          // once it is encoded
  };
  using Chunks = std::vector<Chunk>;

  double QuantumOf(const Flow& flow) const;
  void AdvanceToEligibleFlow();
  void Forget(const Entry& entry);
  std::optional<ChunkId> AdmitNext();
  std::optional<ChunkId> ScheduleOne();
  bool CanEncode(const Chunk& chunk) const;
  bool HasRoom(const Chunk& chunk) const;
  void Encode(Chunk chunk);
  Chunks::iterator NextToSchedule();
  static int32_t FirstPages(const Chunk& chunk);
  static std::vector<ChunkId> Ids(const Chunks& chunks);
  static Chunks::iterator Find(Chunks& chunks, const ChunkId& id);

  const Limits limits_;
  PageShare* const self_;
  PageShare* const cross_;
  Queues flows_;                               // the flow whose turn it is comes first; none is empty
  std::unordered_map<int64_t, Place> places_;  // of the documents in flows_
  int64_t tokens_waiting_ = 0;
  std::deque<Chunk> preempted_;          // oldest first
  Chunks encoding_, encoded_, running_;  // oldest first; in encoded_, preempted chunks come first
  Demand reserved_;                      // rows and pages; source_tokens and pass_chunks_ of this pass
  int32_t kept_cross_pages_ = 0;         // of preempted_
  int32_t pass_chunks_ = 0;
  int32_t rows_ahead_ = 0;  // rows of chunks that are admitted and not scheduled
  int32_t depth_ = 0;       // of the chunk that was scheduled last
  int32_t overtaking_ = 0;  // rows scheduled in succession before an older chunk
};

}  // namespace salient
