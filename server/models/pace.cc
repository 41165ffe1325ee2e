#include "server/models/pace.h"

#include <algorithm>

namespace salient {

void Pace::Ratio::Add(double seconds, double expected) {
  constexpr double kKept = 0.9;
  taken = kKept * taken + seconds;
  foreseen = kKept * foreseen + expected;
}

double Pace::Expected(double alone) const {
  std::lock_guard lock(mutex_);
  const double undisturbed = alone * alone_.value();
  return documents_ == 0 ? undisturbed : std::max(undisturbed, (under_way_ + alone) * shared_.value());
}

std::unique_ptr<Pace::Work> Pace::Begin(double alone, absl::Time now) {
  std::lock_guard lock(mutex_);
  const double before = under_way_;
  under_way_ += alone;
  ++documents_;
  return std::make_unique<Work>(*this, alone, before, ++begun_, now);
}

void Pace::Leave(const Work& work) {
  std::lock_guard lock(mutex_);
  // Sums of doubles leave a little behind.
  under_way_ = --documents_ == 0 ? 0 : std::max(0.0, under_way_ - work.seconds_);
}

void Pace::Learn(const Work& work, double alone, double taken) {
  std::lock_guard lock(mutex_);
  const bool was_alone = work.before_ == 0 && begun_ == work.number_;
  (was_alone ? alone_ : shared_).Add(taken, was_alone ? alone : work.before_ + alone);
}

}  // namespace salient
