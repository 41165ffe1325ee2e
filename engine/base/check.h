// Assertions on invariants of our own code, which hold for any input.
//
//   SALIENT_CHECK(condition)    checked always. For invariants whose violation would corrupt memory, such as page
//                               numbers, row numbers and capacities.
//   SALIENT_DCHECK(condition)   checked in debug and sanitizer builds. For all other invariants.
//
// If a condition is false, the process prints the condition and its place and aborts. Invalid input (requests,
// documents, model folders) is not checked with these macros; it is refused with a status. Debian 12's Abseil has no
// CHECK yet.

#pragma once

#include <cstdio>
#include <cstdlib>

#include "absl/base/optimization.h"

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SALIENT_DEBUG_CHECKS 1
#else
#define SALIENT_DEBUG_CHECKS 0
#endif

namespace salient {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "salient: %s:%d: check failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace salient

#define SALIENT_CHECK(condition) \
  (ABSL_PREDICT_TRUE(condition) ? static_cast<void>(0) : ::salient::CheckFailed(#condition, __FILE__, __LINE__))

// In other builds the condition is compiled but not evaluated.
#define SALIENT_DCHECK(condition) \
  (!SALIENT_DEBUG_CHECKS || (condition) ? static_cast<void>(0) : ::salient::CheckFailed(#condition, __FILE__, __LINE__))
