// Of each byte of a text its place in another one, of which it was made, in the same order. Most neighbours are
// neighbours there, too, so only the beginnings of runs are kept.

#pragma once

#include <cstddef>
#include <vector>

namespace salient {

class BytePlaces {
 public:
  BytePlaces() = default;
  explicit BytePlaces(const std::vector<size_t>& places);  // which do not descend

  // How many bytes have a place.
  size_t size() const { return size_; }
  // Of a byte below size().
  size_t operator[](size_t byte) const;
  // The first byte whose place is not before this one; size() if there is none.
  size_t FirstNotBefore(size_t place) const;

  // About how many bytes of memory it takes beside the object.
  size_t memory() const { return runs_.capacity() * sizeof(Run); }

 private:
  struct Run {
    size_t byte = 0, place = 0;  // its first byte
  };

  std::vector<Run> runs_;
  size_t size_ = 0;
};

}  // namespace salient
