// Assertions: what must hold whatever comes from outside, because our own code has seen to it.
//
//   SALIENT_CHECK(condition)    always; for what would corrupt memory if it did not hold: page and row numbers,
//   capacities SALIENT_DCHECK(condition)   in debug and sanitizer builds; for everything else
//
// A condition that does not hold ends the process and names the condition and its place. What comes from outside
// (requests, documents, model folders) is refused with a status instead. Debian 12's Abseil has no CHECK yet.

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
  std::fprintf(stderr, "salient: %s:%d: this must hold and does not: %s\n", file, line, condition);
  std::abort();
}

}  // namespace salient

#define SALIENT_CHECK(condition) \
  (ABSL_PREDICT_TRUE(condition) ? static_cast<void>(0) : ::salient::CheckFailed(#condition, __FILE__, __LINE__))

// The condition is compiled, but not computed, where it is not checked.
#define SALIENT_DCHECK(condition) \
  (!SALIENT_DEBUG_CHECKS || (condition) ? static_cast<void>(0) : ::salient::CheckFailed(#condition, __FILE__, __LINE__))
