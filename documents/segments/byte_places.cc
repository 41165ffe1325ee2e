#include "documents/segments/byte_places.h"

#include <algorithm>

namespace salient {

BytePlaces::BytePlaces(const std::vector<size_t>& places) : size_(places.size()) {
  for (size_t byte = 0; byte < places.size(); ++byte) {
    if (byte == 0 || places[byte] != places[byte - 1] + 1) runs_.push_back({byte, places[byte]});
  }
  runs_.shrink_to_fit();
}

size_t BytePlaces::operator[](size_t byte) const {
  const auto after =
      std::upper_bound(runs_.begin(), runs_.end(), byte, [](size_t at, const Run& run) { return at < run.byte; });
  const Run& run = *(after - 1);
  return run.place + (byte - run.byte);
}

size_t BytePlaces::FirstNotBefore(size_t place) const {
  const auto next =
      std::lower_bound(runs_.begin(), runs_.end(), place, [](const Run& run, size_t at) { return run.place < at; });
  const size_t end = next == runs_.end() ? size_ : next->byte;
  if (next == runs_.begin()) return end;
  const Run& run = *(next - 1);
  return std::min(end, run.byte + (place - run.place));
}

}  // namespace salient
