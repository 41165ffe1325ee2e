// Progress on standard error: on a terminal one line that is updated, otherwise a new line every two seconds.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <functional>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace salient {

struct DocumentProgress {
  int done = 0, total = 0;  // segments
  double share = 0;         // of the work that is done, 0 to 1
  std::string note;         // an additional state, such as "queued"; may be empty
};

using ProgressFn = std::function<void(const DocumentProgress&)>;

class Progress {
 public:
  // `live`: whether `out` is a terminal. Nothing is written if `quiet`.
  Progress(std::vector<std::string> names, std::ostream& out, bool live, bool quiet);

  void Update(size_t index, DocumentProgress progress);
  void Finish(size_t index);

  // Writes a message on a line of its own, quiet or not.
  void Say(const std::string& message);

  // Removes the live line.
  void Clear();

 private:
  void Show();
  void Erase();
  std::string Line() const;

  const std::vector<std::string> names_;
  std::ostream& out_;
  const bool live_, quiet_;
  std::mutex mutex_;
  std::vector<DocumentProgress> documents_;
  size_t finished_ = 0;
  absl::Time last_shown_;
  bool line_is_up_ = false;
};

}  // namespace salient
