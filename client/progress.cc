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

void Progress::Update(size_t index, DocumentProgress progress) {
  std::lock_guard<std::mutex> lock(mutex_);
  documents_[index] = std::move(progress);
  Show();
}

void Progress::Finish(size_t index) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++finished_;
  documents_[index].share = 1;
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
  double work = 0;  // in segments
  const std::string* note = nullptr;
  for (const DocumentProgress& document : documents_) {
    done += document.done;
    total += document.total;
    work += document.share * document.total;
    if (!document.note.empty() && note == nullptr) note = &document.note;
  }
  std::string line =
      documents_.size() == 1 ? names_[0] : absl::StrCat(finished_, " of ", documents_.size(), " documents");
  if (total > 0) {
    absl::StrAppend(&line, ": ", static_cast<int>(100 * work / total), " %, ", done, " of ", total, " segments");
  }
  if (note != nullptr) absl::StrAppend(&line, " (", *note, ")");
  return line;
}

}  // namespace salient
