// Stacks that take turns in one host thread. A switch costs some ten nanoseconds on x86-64, without a system call;
// elsewhere ucontext does it.

#pragma once

#include <cstddef>
#include <memory>

namespace salient::emulation {

// One stack, used over and over. Its function must end by switching away for good, never by returning.
class Fiber {
 public:
  Fiber();  // the thread that it is made in, until it starts a function
  explicit Fiber(size_t stack_bytes);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to this fiber calls `function`, on a stack that starts anew.
  void Start(void (*function)());
  // Goes on where `to` left off, or starts it; returns when somebody switches back to `from`.
  static void Switch(Fiber& from, Fiber& to);

 private:
  static void Enter();

  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace salient::emulation
