#include "engine/schedule/scheduler.h"

#include <algorithm>
#include <utility>

namespace salient {

void Scheduler::Enqueue(int64_t document, std::vector<Demand> windows) {
  if (!windows.empty()) waiting_.push_back({document, std::move(windows), 0});
}

void Scheduler::Cancel(int64_t document) {
  std::erase_if(waiting_, [&](const Entry& entry) { return entry.document == document; });
}

void Scheduler::BeginPass() {
  reserved_.source_tokens = 0;
  pass_windows_ = 0;
}

bool Scheduler::FitsNow(const Demand& demand) const {
  const bool encodes = pass_windows_ == 0 || (pass_windows_ < limits_.encode_windows &&
                                              reserved_.source_tokens + demand.source_tokens <= limits_.encode_tokens);
  return encodes && reserved_.rows + demand.rows <= limits_.rows &&
         reserved_.self_pages + demand.self_pages <= limits_.self_pages &&
         reserved_.cross_pages + demand.cross_pages <= limits_.cross_pages;
}

std::optional<Admission> Scheduler::Admit() {
  if (waiting_.empty() || !FitsNow(waiting_.front().windows[waiting_.front().next])) return std::nullopt;
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  const Demand& demand = entry.windows[entry.next];
  reserved_.rows += demand.rows;
  reserved_.self_pages += demand.self_pages;
  reserved_.cross_pages += demand.cross_pages;
  reserved_.source_tokens += demand.source_tokens;
  ++pass_windows_;
  const Admission admission{entry.document, entry.next++};
  if (entry.next < static_cast<int32_t>(entry.windows.size())) waiting_.push_back(std::move(entry));
  return admission;
}

void Scheduler::Release(const Demand& demand) {
  reserved_.rows -= demand.rows;
  reserved_.self_pages -= demand.self_pages;
  reserved_.cross_pages -= demand.cross_pages;
}

int32_t Scheduler::untouched() const {
  return static_cast<int32_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [](const Entry& entry) { return entry.next == 0; }));
}

}  // namespace salient
