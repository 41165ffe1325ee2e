#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace salient {
namespace {

// Bulk documents get this fraction of the share of the same client's interactive documents.
constexpr double kBulkShare = 1.0 / 8;

// One question for all new work that there is.
template <typename Ask>
auto Asking(PageShare* share, const Ask& ask) {
  if (share != nullptr) share->BeginAsking();
  const auto answer = ask();
  if (share != nullptr) share->EndAsking();
  return answer;
}

}  // namespace

void Scheduler::Enqueue(int64_t document, std::vector<Demand> chunks, const Flow& flow) {
  if (chunks.empty()) return;
  for (const Demand& chunk : chunks) tokens_waiting_ += chunk.source_tokens;
  auto found = std::find_if(flows_.begin(), flows_.end(), [&flow](const Queue& queue) {
    return queue.flow.client == flow.client && queue.flow.bulk == flow.bulk;
  });
  // A new flow goes to the end of the queue, with the quantum of one turn.
  if (found == flows_.end()) found = flows_.insert(flows_.end(), Queue{.flow = flow, .deficit = QuantumOf(flow)});
  found->flow.weight = flow.weight;
  found->documents.push_back({document, std::move(chunks), 0});
  places_[document] = {found, std::prev(found->documents.end())};
}

double Scheduler::QuantumOf(const Flow& flow) const {
  return std::max(1.0, limits_.quantum * flow.weight * (flow.bulk ? kBulkShare : 1));
}

// Moves the turn to the first flow whose deficit covers its next chunk (deficit round robin).
void Scheduler::AdvanceToEligibleFlow() {
  while (true) {
    const Entry& next = flows_.front().documents.front();
    if (flows_.front().deficit >= next.chunks[next.next].source_tokens) return;
    flows_.splice(flows_.end(), flows_, flows_.begin());
    flows_.back().deficit += QuantumOf(flows_.back().flow);
  }
}

void Scheduler::Forget(const Entry& entry) {
  for (size_t chunk = entry.next; chunk < entry.chunks.size(); ++chunk) {
    tokens_waiting_ -= entry.chunks[chunk].source_tokens;
  }
}

void Scheduler::Cancel(int64_t document) {
  if (const auto found = places_.find(document); found != places_.end()) {
    const auto [flow, entry] = found->second;
    Forget(*entry);
    flow->documents.erase(entry);
    if (flow->documents.empty()) flows_.erase(flow);
    places_.erase(found);
  }
  std::erase_if(preempted_, [&](const Chunk& chunk) {
    if (chunk.id.document != document) return false;
    kept_cross_pages_ -= chunk.demand.cross_pages;
    return true;
  });
}

void Scheduler::BeginPass() {
  reserved_.source_tokens = 0;
  pass_chunks_ = 0;
}

bool Scheduler::CanEncode(const Chunk& chunk) const {
  const Demand& demand = chunk.demand;
  const bool in_pass = pass_chunks_ == 0 || (pass_chunks_ < limits_.encode_chunks &&
                                             reserved_.source_tokens + demand.source_tokens <= limits_.encode_tokens);
  // A preempted chunk does not wait for others, because others wait for it.
  const int32_t free = limits_.rows - reserved_.rows;
  const int32_t most_ahead = limits_.rows_ahead > 0 ? std::min(free + limits_.rows_ahead, limits_.rows) : limits_.rows;
  const bool not_too_early = chunk.again || rows_ahead_ == 0 || rows_ahead_ + demand.rows <= most_ahead;
  if (!in_pass || !not_too_early || reserved_.cross_pages + demand.cross_pages > limits_.cross_pages) return false;
  return cross_ == nullptr || cross_->Cover(cross_reserved() + (chunk.again ? 0 : demand.cross_pages));
}

void Scheduler::Encode(Chunk chunk) {
  reserved_.cross_pages += chunk.demand.cross_pages;
  reserved_.source_tokens += chunk.demand.source_tokens;
  rows_ahead_ += chunk.demand.rows;
  ++pass_chunks_;
  encoding_.push_back(chunk);
}

std::optional<ChunkId> Scheduler::Admit() {
  return Asking(cross_, [this] { return AdmitNext(); });
}

std::optional<ChunkId> Scheduler::AdmitNext() {
  if (!preempted_.empty()) {
    const Chunk chunk = preempted_.front();
    if (!CanEncode(chunk)) return std::nullopt;
    preempted_.pop_front();
    kept_cross_pages_ -= chunk.demand.cross_pages;
    Encode(chunk);
    return chunk.id;
  }
  if (flows_.empty()) return std::nullopt;
  AdvanceToEligibleFlow();
  Queue& queue = flows_.front();
  const Entry& front = queue.documents.front();
  const Chunk chunk{{front.document, front.next}, front.chunks[front.next]};
  if (!CanEncode(chunk)) return std::nullopt;
  Encode(chunk);
  queue.deficit -= chunk.demand.source_tokens;
  tokens_waiting_ -= chunk.demand.source_tokens;
  Entries& documents = queue.documents;
  if (++documents.front().next < static_cast<int32_t>(front.chunks.size())) {
    documents.splice(documents.end(), documents, documents.begin());
  } else {
    places_.erase(front.document);
    documents.pop_front();
  }
  if (documents.empty()) flows_.pop_front();
  return chunk.id;
}

void Scheduler::MarkEncoded(const ChunkId& id, int32_t depth) {
  const auto found = Find(encoding_, id);
  Chunk chunk = *found;
  encoding_.erase(found);
  chunk.depth = depth;
  const auto never_preempted = [](const Chunk& other) { return !other.again; };
  encoded_.insert(chunk.again ? std::find_if(encoded_.begin(), encoded_.end(), never_preempted) : encoded_.end(),
                  chunk);
}

Scheduler::Chunks::iterator Scheduler::NextToSchedule() {
  const auto again = [](const Chunk& chunk) { return chunk.again; };
  const bool one_waits = !preempted_.empty() || std::any_of(encoding_.begin(), encoding_.end(), again);
  if (encoded_.empty() || again(encoded_.front())) return encoded_.begin();
  if (one_waits) return encoded_.end();
  if (overtaking_ >= limits_.rows) return encoded_.begin();
  const auto alike =
      std::find_if(encoded_.begin(), encoded_.end(), [&](const Chunk& chunk) { return chunk.depth == depth_; });
  return alike != encoded_.end() && HasRoom(*alike) ? alike : encoded_.begin();
}

// The pages that are reserved for a chunk when it begins to be decoded.
int32_t Scheduler::FirstPages(const Chunk& chunk) {
  return chunk.again ? chunk.demand.self_pages : std::min(chunk.demand.expected_pages, chunk.demand.self_pages);
}

bool Scheduler::HasRoom(const Chunk& chunk) const {
  return reserved_.rows + chunk.demand.rows <= limits_.rows &&
         reserved_.self_pages + FirstPages(chunk) <= limits_.self_pages;
}

std::optional<ChunkId> Scheduler::ScheduleNext() {
  return Asking(self_, [this] { return ScheduleOne(); });
}

std::optional<ChunkId> Scheduler::ScheduleOne() {
  const auto next = NextToSchedule();
  if (next == encoded_.end() || !HasRoom(*next)) return std::nullopt;
  Chunk chunk = *next;
  const Demand& demand = chunk.demand;
  chunk.self_reserved = FirstPages(chunk);
  if (self_ != nullptr && !self_->Cover(reserved_.self_pages + chunk.self_reserved)) return std::nullopt;
  overtaking_ = next == encoded_.begin() ? 0 : overtaking_ + demand.rows;
  depth_ = chunk.depth;
  encoded_.erase(next);
  reserved_.rows += demand.rows;
  reserved_.self_pages += chunk.self_reserved;
  rows_ahead_ -= demand.rows;
  running_.push_back(chunk);
  return chunk.id;
}

Scheduler::Chunks::iterator Scheduler::Find(Chunks& chunks, const ChunkId& id) {
  return std::find_if(chunks.begin(), chunks.end(), [&](const Chunk& chunk) { return chunk.id == id; });
}

bool Scheduler::Grow(const ChunkId& id, int32_t self_pages) {
  Chunk& chunk = *Find(running_, id);
  const int32_t missing = std::min(self_pages, chunk.demand.self_pages) - chunk.self_reserved;
  if (missing <= 0) return true;
  if (reserved_.self_pages + missing > limits_.self_pages) return false;
  if (self_ != nullptr && !self_->Grow(reserved_.self_pages + missing)) return false;
  reserved_.self_pages += missing;
  chunk.self_reserved += missing;
  return true;
}

std::vector<ChunkId> Scheduler::Ids(const Chunks& chunks) {
  std::vector<ChunkId> ids;
  for (const Chunk& chunk : chunks) ids.push_back(chunk.id);
  return ids;
}

std::vector<ChunkId> Scheduler::Encoding() const { return Ids(encoding_); }

std::vector<ChunkId> Scheduler::Running() const { return Ids(running_); }

ChunkId Scheduler::PreemptYoungest() {
  Chunk chunk = running_.back();
  Release(chunk.id);
  chunk.again = true;
  kept_cross_pages_ += chunk.demand.cross_pages;
  preempted_.push_front(chunk);
  return chunk.id;
}

void Scheduler::Release(const ChunkId& id) {
  for (Chunks* chunks : {&encoding_, &encoded_, &running_}) {
    const auto found = Find(*chunks, id);
    if (found == chunks->end()) continue;
    reserved_.cross_pages -= found->demand.cross_pages;
    if (chunks == &running_) {
      reserved_.rows -= found->demand.rows;
      reserved_.self_pages -= found->self_reserved;
    } else {
      rows_ahead_ -= found->demand.rows;
    }
    chunks->erase(found);
    return;
  }
}

}  // namespace salient
