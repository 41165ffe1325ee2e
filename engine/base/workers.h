// A few threads for work that must not hold up the step loop: cutting documents, putting replies together.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace salient {

// Does what it is handed, in order of arrival, `threads` tasks at once. Post may be called from any thread, from within
// tasks, too.
class Workers {
 public:
  explicit Workers(int threads);
  ~Workers();  // does what is left, then joins
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Post(std::function<void()> task);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Tasks that are done one at a time and in the order in which they were posted, on workers that others use as well.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  explicit Lane(Workers& workers) : workers_(workers) {}  // which outlive it

  void Post(std::function<void()> task);

 private:
  void RunOne();

  Workers& workers_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // the first is under way
};

}  // namespace salient
