#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace salient {

void Scheduler::Enqueue(int64_t document, std::vector<Demand> windows) {
  if (!windows.empty()) waiting_.push_back({document, std::move(windows), 0});
}

void Scheduler::Cancel(int64_t document) {
  std::erase_if(waiting_, [&](const Entry& entry) { return entry.document == document; });
  std::erase_if(suspended_, [&](const Window& window) { return window.name.document == document; });
}

void Scheduler::BeginPass() {
  reserved_.source_tokens = 0;
  pass_windows_ = 0;
}

bool Scheduler::CanEncode(const Window& window) const {
  const Demand& demand = window.demand;
  const bool in_pass = pass_windows_ == 0 || (pass_windows_ < limits_.encode_windows &&
                                              reserved_.source_tokens + demand.source_tokens <= limits_.encode_tokens);
  // Others wait for one that was suspended, so it does not wait for them.
  const bool not_too_early = window.again || rows_ahead_ == 0 || rows_ahead_ + demand.rows <= limits_.rows;
  return in_pass && not_too_early && reserved_.cross_pages + demand.cross_pages <= limits_.cross_pages;
}

void Scheduler::Encode(Window window) {
  reserved_.cross_pages += window.demand.cross_pages;
  reserved_.source_tokens += window.demand.source_tokens;
  rows_ahead_ += window.demand.rows;
  ++pass_windows_;
  encoding_.push_back(window);
}

std::optional<Admission> Scheduler::Admit() {
  if (!suspended_.empty()) {
    const Window window = suspended_.front();
    if (!CanEncode(window)) return std::nullopt;
    suspended_.pop_front();
    Encode(window);
    return window.name;
  }
  if (waiting_.empty()) return std::nullopt;
  const Entry& front = waiting_.front();
  const Window window{{front.document, front.next}, front.windows[front.next]};
  if (!CanEncode(window)) return std::nullopt;
  Encode(window);
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  if (++entry.next < static_cast<int32_t>(entry.windows.size())) waiting_.push_back(std::move(entry));
  return window.name;
}

void Scheduler::NoteEncoded(const Admission& name, int32_t depth) {
  const auto found = Find(encoding_, name);
  Window window = *found;
  encoding_.erase(found);
  window.depth = depth;
  const auto place = window.again
                         ? std::find_if(encoded_.begin(), encoded_.end(), [](const Window& w) { return !w.again; })
                         : encoded_.end();
  encoded_.insert(place, window);
}

Scheduler::Windows::iterator Scheduler::NextToSeat() {
  const auto again = [](const Window& window) { return window.again; };
  const bool one_waits = !suspended_.empty() || std::any_of(encoding_.begin(), encoding_.end(), again);
  if (encoded_.empty() || again(encoded_.front())) return encoded_.begin();
  if (one_waits) return encoded_.end();
  if (overtaking_ >= limits_.rows) return encoded_.begin();
  const auto alike =
      std::find_if(encoded_.begin(), encoded_.end(), [&](const Window& window) { return window.depth == depth_; });
  return alike != encoded_.end() ? alike : encoded_.begin();
}

std::optional<Admission> Scheduler::Seat() {
  const auto next = NextToSeat();
  if (next == encoded_.end()) return std::nullopt;
  Window window = *next;
  const Demand& demand = window.demand;
  window.self_reserved = window.again ? demand.self_pages : std::min(demand.expected_pages, demand.self_pages);
  if (reserved_.rows + demand.rows > limits_.rows || reserved_.self_pages + window.self_reserved > limits_.self_pages) {
    return std::nullopt;
  }
  overtaking_ = next == encoded_.begin() ? 0 : overtaking_ + 1;
  depth_ = window.depth;
  encoded_.erase(next);
  reserved_.rows += demand.rows;
  reserved_.self_pages += window.self_reserved;
  rows_ahead_ -= demand.rows;
  seated_.push_back(window);
  return window.name;
}

Scheduler::Windows::iterator Scheduler::Find(Windows& windows, const Admission& name) {
  return std::find_if(windows.begin(), windows.end(), [&](const Window& window) { return window.name == name; });
}

bool Scheduler::Grow(const Admission& name, int32_t self_pages) {
  Window& window = *Find(seated_, name);
  const int32_t missing = std::min(self_pages, window.demand.self_pages) - window.self_reserved;
  if (missing <= 0) return true;
  if (reserved_.self_pages + missing > limits_.self_pages) return false;
  reserved_.self_pages += missing;
  window.self_reserved += missing;
  return true;
}

std::vector<Admission> Scheduler::Names(const Windows& windows) {
  std::vector<Admission> names;
  for (const Window& window : windows) names.push_back(window.name);
  return names;
}

std::vector<Admission> Scheduler::Encoding() const { return Names(encoding_); }

std::vector<Admission> Scheduler::Seated() const { return Names(seated_); }

Admission Scheduler::SuspendYoungest() {
  Window window = seated_.back();
  Release(window.name);
  window.again = true;
  suspended_.push_front(window);
  return window.name;
}

void Scheduler::Release(const Admission& name) {
  for (Windows* windows : {&encoding_, &encoded_, &seated_}) {
    const auto found = Find(*windows, name);
    if (found == windows->end()) continue;
    reserved_.cross_pages -= found->demand.cross_pages;
    if (windows == &seated_) {
      reserved_.rows -= found->demand.rows;
      reserved_.self_pages -= found->self_reserved;
    } else {
      rows_ahead_ -= found->demand.rows;
    }
    windows->erase(found);
    return;
  }
}

int32_t Scheduler::untouched() const {
  return static_cast<int32_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [](const Entry& entry) { return entry.next == 0; }));
}

}  // namespace salient
