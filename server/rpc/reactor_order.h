// gRPC calls a reactor from several threads, one after another. What orders them is inside gRPC's libraries, where the
// thread sanitizer does not see it: now and then it takes a reactor that was made by one thread and is ended by another
// for a race. These functions tell the sanitizer of that order. In other builds they do nothing.

#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace salient {

// What this thread has done to the reactor comes before all that gRPC calls on it from now on.
inline void ShowHandOver([[maybe_unused]] void* reactor) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(reactor);
#endif
}

// First in a function that gRPC calls: all that was done before a ShowHandOver comes before what this thread does now.
inline void ShowTakeOver([[maybe_unused]] void* reactor) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(reactor);
#endif
}

}  // namespace salient
