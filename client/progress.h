// Progress on standard error: on a terminal one line that is updated, otherwise a new line every two seconds.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <mutex>
#include <ostream>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace salient {

class Progress {
 public:
  // `live`: whether `out` is a terminal. Nothing is written if `quiet`.
  Progress(std::vector<std::string> names, std::ostream& out, bool live, bool quiet);

  // Document `index` has `done` of `total` segments. `note` is an additional state, such as "queued".
  void Update(size_t index, int done, int total, const std::string& note = "");
  void Finish(size_t index);

  // Writes a message on a line of its own, quiet or not.
  void Say(const std::string& message);

  // Removes the live line.
  void Clear();

 private:
  struct Document {
    int done = 0, total = 0;
    bool finished = false;
    std::string note;
  };

  void Show();
  void Erase();
  std::string Line() const;

  const std::vector<std::string> names_;
  std::ostream& out_;
  const bool live_, quiet_;
  std::mutex mutex_;
  std::vector<Document> documents_;
  absl::Time last_shown_;
  bool line_is_up_ = false;
};

}  // namespace salient
