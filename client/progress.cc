#include "client/progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace salient {
namespace {

constexpr absl::Duration kLiveEvery = absl::Milliseconds(100);
constexpr absl::Duration kLineEvery = absl::Seconds(2);
constexpr char kEraseLine[] = "\r\033[K";
// Around a live line: what does not fit into the terminal's line is cut off there, since only one line can be erased.
constexpr char kDoNotWrap[] = "\033[?7l", kWrap[] = "\033[?7h";

}  // namespace

Progress::Progress(std::vector<std::string> names, std::ostream& out, bool live, bool quiet)
    : names_(std::move(names)),
      out_(out),
      live_(live),
      quiet_(quiet),
      documents_(names_.size()),
      last_shown_(live ? absl::InfinitePast() : absl::Now()) {}

void Progress::Update(size_t index, int done, int total, const std::string& note) {
  std::lock_guard<std::mutex> lock(mutex_);
  documents_[index] = {done, total, false, note};
  Show();
}

void Progress::Finish(size_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  documents_[index].finished = true;
  documents_[index].note.clear();
  Show();
}

void Progress::Say(const std::string& message) {
  std::lock_guard<std::mutex> lock(mutex_);
  Erase();
  out_ << message << "\n";
  out_.flush();
}

void Progress::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  Erase();
}

void Progress::Show() {
  if (quiet_) return;
  const absl::Time now = absl::Now();
  if (now - last_shown_ < (live_ ? kLiveEvery : kLineEvery)) return;
  last_shown_ = now;
  Erase();
  out_ << (live_ ? absl::StrCat(kDoNotWrap, Line(), kWrap) : Line() + "\n");
  out_.flush();
  line_is_up_ = live_;
}

void Progress::Erase() {
  if (!line_is_up_) return;
  out_ << kEraseLine;
  out_.flush();
  line_is_up_ = false;
}

std::string Progress::Line() const {
  int done = 0, total = 0;
  size_t finished = 0;
  const std::string* note = nullptr;
  for (const Document& document : documents_) {
    done += document.done;
    total += document.total;
    finished += document.finished ? 1 : 0;
    if (!document.note.empty() && note == nullptr) note = &document.note;
  }
  std::string line =
      documents_.size() == 1 ? names_[0] : absl::StrCat(finished, " of ", documents_.size(), " documents");
  if (total > 0) absl::StrAppend(&line, ": ", done, " of ", total, " segments");
  if (note != nullptr) absl::StrAppend(&line, " (", *note, ")");
  return line;
}

}  // namespace salient
