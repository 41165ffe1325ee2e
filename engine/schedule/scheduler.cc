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

bool Scheduler::FitsNow(const Demand& demand, int32_t self_pages) const {
  const bool encodes = pass_windows_ == 0 || (pass_windows_ < limits_.encode_windows &&
                                              reserved_.source_tokens + demand.source_tokens <= limits_.encode_tokens);
  return encodes && reserved_.rows + demand.rows <= limits_.rows &&
         reserved_.self_pages + self_pages <= limits_.self_pages &&
         reserved_.cross_pages + demand.cross_pages <= limits_.cross_pages;
}

std::optional<Admission> Scheduler::Admit() {
  if (!suspended_.empty()) {
    const Window window = suspended_.front();
    if (!FitsNow(window.demand, window.self_reserved)) return std::nullopt;
    suspended_.pop_front();
    Seat(window);
    return window.name;
  }
  if (waiting_.empty()) return std::nullopt;
  const Entry& front = waiting_.front();
  const Demand& demand = front.windows[front.next];
  const Window window{{front.document, front.next}, demand, std::min(demand.expected_pages, demand.self_pages)};
  if (!FitsNow(demand, window.self_reserved)) return std::nullopt;
  Seat(window);
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  if (++entry.next < static_cast<int32_t>(entry.windows.size())) waiting_.push_back(std::move(entry));
  return window.name;
}

void Scheduler::Seat(const Window& window) {
  reserved_.rows += window.demand.rows;
  reserved_.self_pages += window.self_reserved;
  reserved_.cross_pages += window.demand.cross_pages;
  reserved_.source_tokens += window.demand.source_tokens;
  ++pass_windows_;
  in_flight_.push_back(window);
}

void Scheduler::GiveBack(const Window& window) {
  reserved_.rows -= window.demand.rows;
  reserved_.self_pages -= window.self_reserved;
  reserved_.cross_pages -= window.demand.cross_pages;
}

std::vector<Scheduler::Window>::iterator Scheduler::Find(const Admission& name) {
  return std::find_if(in_flight_.begin(), in_flight_.end(), [&](const Window& window) { return window.name == name; });
}

bool Scheduler::Grow(const Admission& name, int32_t self_pages) {
  Window& window = *Find(name);
  const int32_t missing = std::min(self_pages, window.demand.self_pages) - window.self_reserved;
  if (missing <= 0) return true;
  if (reserved_.self_pages + missing > limits_.self_pages) return false;
  reserved_.self_pages += missing;
  window.self_reserved += missing;
  return true;
}

std::vector<Admission> Scheduler::InFlight() const {
  std::vector<Admission> names;
  for (const Window& window : in_flight_) names.push_back(window.name);
  return names;
}

Admission Scheduler::SuspendYoungest() {
  Window window = in_flight_.back();
  in_flight_.pop_back();
  GiveBack(window);
  window.self_reserved = window.demand.self_pages;
  suspended_.push_front(window);
  return window.name;
}

void Scheduler::Release(const Admission& name) {
  const auto window = Find(name);
  GiveBack(*window);
  in_flight_.erase(window);
}

int32_t Scheduler::untouched() const {
  return static_cast<int32_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [](const Entry& entry) { return entry.next == 0; }));
}

}  // namespace salient
