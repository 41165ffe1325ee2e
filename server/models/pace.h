// How long a document takes here and now, compared with the times of the operating points, which were measured with one
// document alone on some machine. Learned from documents with an operating point as they finish:
//
//   expected = max(alone a, (w + a) s)
//
// a: the measured time of the document alone; w: the same of all documents that are under way. `alone` and `s` are the
// times taken, over those foreseen without the factor, of documents that were alone all the time, and of the others; 1
// until one has finished. `s` is less than 1 where documents share steps.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/time/time.h"

namespace salient {

class Pace {
 public:
  // A document under way, until this object is destroyed. Must not outlive the Pace.
  class Work {
   public:
    Work(Pace& owner, double seconds, double before, int64_t number, absl::Time begun)
        : owner_(owner), seconds_(seconds), before_(before), number_(number), begun_(begun) {}
    ~Work() { owner_.Leave(*this); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    // It is finished, and is known to take `alone` seconds alone.
    void Learn(double alone, absl::Time now) { owner_.Learn(*this, alone, absl::ToDoubleSeconds(now - begun_)); }

   private:
    friend class Pace;
    Pace& owner_;
    const double seconds_;  // that were expected of it alone
    const double before_;   // of those under way when it began
    const int64_t number_;  // of documents until then, this one included
    const absl::Time begun_;
  };

  // The seconds until a document that takes `alone` seconds alone would be finished, if it began now.
  double Expected(double alone) const;
  std::unique_ptr<Work> Begin(double alone, absl::Time now);

 private:
  // A mean in which each value counts nine tenths of the next, weighted by what was foreseen.
  struct Ratio {
    double taken = 0, foreseen = 0;
    void Add(double seconds, double expected);
    double value() const { return foreseen > 0 ? taken / foreseen : 1; }
  };

  void Leave(const Work& work);
  void Learn(const Work& work, double alone, double taken);

  mutable std::mutex mutex_;
  double under_way_ = 0;  // seconds alone of all documents that have begun
  int32_t documents_ = 0;
  int64_t begun_ = 0;
  Ratio alone_, shared_;
};

}  // namespace salient
