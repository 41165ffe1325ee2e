// Bytes that several members share. A member takes what it needs at the time, and may take all of it. Memory that one
// has taken is never taken away; but when another asks in vain, all are told, give back what they do not use, and take
// nothing new before the one that waits has what it asked for:
//
//   * Who asks in vain waits in line. While somebody waits, only the first in line is given memory for new work.
//   * Work that has begun may grow out of line, if there is memory. So what has begun ends, and its memory comes back.
//
// So every member gets what it asks for. One that asks for more than all there is gets it when nobody has anything.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>

namespace salient {

class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : bytes_(bytes) {}
  int64_t bytes() const { return bytes_; }
  int64_t taken() const;

  class Member {
   public:
    // `look` is called when another member waits for memory, and when there may be memory for this one, with a lock
    // held: it must not block, nor call the budget. The budget must outlive the member.
    Member(MemoryBudget& budget, std::function<void()> look);
    ~Member();  // gives back all that it has taken
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    bool TakeInLine(int64_t bytes);     // for new work; false: it waits in line now
    bool TakeOutOfLine(int64_t bytes);  // for work that has begun; false: there is too little
    void StopWaiting();
    void GiveBack(int64_t bytes);
    // Whether somebody else is the first in line.
    bool others_wait() const;

   private:
    friend class MemoryBudget;
    MemoryBudget& budget_;
    const std::function<void()> look_;
    int64_t taken_ = 0;  // under the budget's lock
    std::list<Member*>::iterator place_;
  };

 private:
  // With mutex_ held.
  bool Take(Member& member, int64_t bytes);
  void Leave(Member& member);
  void NotifyFirst();

  const int64_t bytes_;
  mutable std::mutex mutex_;
  int64_t taken_ = 0;
  std::list<Member*> members_;
  std::deque<Member*> line_;
};

}  // namespace salient
