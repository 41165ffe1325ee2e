// Worker threads for work outside the step loop: splitting documents and assembling replies.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace salient {

// Runs tasks in the order in which they were posted, `threads` of them at a time. Post may be called from any thread,
// and from tasks.
class Workers {
 public:
  explicit Workers(int threads);
  ~Workers() { Stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Post(std::function<void()> task);

  // Runs the remaining tasks, and those that they post, then joins the threads. Nobody else posts any more.
  void Stop();

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Runs tasks one at a time, in the order in which they were posted, on shared workers.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  explicit Lane(Workers& workers) : workers_(workers) {}  // must outlive the lane

  void Post(std::function<void()> task);

 private:
  void RunOne();

  Workers& workers_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;  // the first is running
};

// A lane for each name that has tasks. Thread safe.
class NamedLanes {
 public:
  explicit NamedLanes(Workers& workers) : workers_(workers) {}  // must outlive the lanes

  void Post(const std::string& name, std::function<void()> task);

 private:
  Workers& workers_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Lane>> lanes_;  // a lane lives until its last task is done
};

}  // namespace salient
