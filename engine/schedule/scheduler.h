// Which chunks are encoded, pass by pass; which of them are decoded then; and which one gives way when memory runs
// short.
//
// Those who send documents share the encoder by weight: deficit round robin over source tokens. A flow is a client's
// documents of one priority; its turn brings it quantum * weight tokens, of which it spends what its chunks have, and
// it keeps the rest while it has more to do. So a client with a thousand documents delays another's single one by no
// more than its fair share and the chunk under way, whatever the lengths. Within a flow documents take turns chunk by
// chunk, so that a book does not hold up a letter. A chunk is encoded when the pages for its source are free and the
// pass has room for it, even if no rows are free yet: by as many rows as decode at once, chunks are encoded ahead. The
// one whose turn it is waits at the front until it fits, so that none starves.
//
// Decoding. Once a chunk is encoded, the greatest depth of its tokens is known, and it gets rows when they are free. A
// layer costs a step nearly the same for one row as for many, so chunks of the same depth are scheduled one after
// another. After `max_rows` such picks the oldest chunk runs, so none starves; chunks of its depth follow it.
//
// Memory. Only the pages of a translation of usual length are reserved, since few become longer. A chunk that grows
// longer reserves more pages. If none are left, the youngest chunk is preempted: it returns its pages and rows, waits
// before all others, and starts again with its greatest length reserved. No other chunk gets rows until it has some.
// The oldest chunk is never preempted, and alone it always fits: so some chunk always makes progress.
//
// Admitting and cancelling take the same time however many documents wait.
//
// Knows sizes, no tensors. Not thread safe; the step loop owns it.

#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
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

// Whose documents share what there is, and how large their share is.
struct Flow {
  std::string client;
  bool bulk = false;
  double weight = 1;  // above 0; of the flow's document that came last
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
    int32_t quantum = 512;      // tokens that a turn brings a flow of weight 1
  };

  explicit Scheduler(const Limits& limits) : limits_(limits) {}
  const Limits& limits() const { return limits_; }

  // Whether the chunk could run in an empty engine.
  bool CouldFit(const Demand& demand) const {
    return demand.rows <= limits_.rows && demand.self_pages <= limits_.self_pages &&
           demand.cross_pages <= limits_.cross_pages;
  }

  // Needs CouldFit for every chunk. `document` is a name of the caller's choice.
  void Enqueue(int64_t document, std::vector<Demand> chunks, const Flow& flow = {});
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

  bool idle() const { return flows_.empty() && preempted_.empty(); }
  // Documents of which no chunk was admitted yet.
  int32_t untouched() const { return untouched_; }
  // Source tokens of the chunks that were never admitted.
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
    Admission name;
    Demand demand;
    bool again = false;         // was preempted
    int32_t self_reserved = 0;  // once it is scheduled
    int32_t depth = 0;          // once it is encoded
  };
  using Chunks = std::vector<Chunk>;

  double QuantumOf(const Flow& flow) const;
  void TurnToWhoMay();
  void Forget(const Entry& entry);
  bool CanEncode(const Chunk& chunk) const;
  void Encode(Chunk chunk);
  Chunks::iterator NextToSchedule();
  static std::vector<Admission> Names(const Chunks& chunks);
  static Chunks::iterator Find(Chunks& chunks, const Admission& name);

  const Limits limits_;
  Queues flows_;                              // the one whose turn it is first; none is empty
  std::unordered_map<int64_t, Place> places_;  // of the documents that flows hold
  int32_t untouched_ = 0;
  int64_t tokens_waiting_ = 0;
  std::deque<Chunk> preempted_;          // oldest first
  Chunks encoding_, encoded_, running_;  // oldest first; of the encoded, those that were preempted before the others
  Demand reserved_;                      // rows and pages; source_tokens and pass_chunks_ of this pass
  int32_t pass_chunks_ = 0;
  int32_t rows_ahead_ = 0;  // wanted by chunks that are admitted and not scheduled
  int32_t depth_ = 0;       // of the chunk that was scheduled last
  int32_t overtaking_ = 0;  // chunks that were scheduled one after another before one that is older
};

}  // namespace salient
