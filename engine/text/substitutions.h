// Changes to a text, and where they have moved its bytes.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace salient {

// Bytes [begin, end) of a text become `by`. The substitutions of a text are disjoint and in order.
struct Substitution {
  size_t begin = 0, end = 0;
  std::string by;
  bool is_copy = false;  // `by` is a marker, and the bytes themselves take its place in the translation (copier.h)

  bool operator==(const Substitution&) const = default;
};

std::string Substituted(std::string_view text, const std::vector<Substitution>& substitutions);

// Maps offsets of bytes in a text to those in the changed text, or back. A byte that was replaced is at the beginning
// of what replaced it; the end of a stretch is at its end. What was left out is with the byte after it. Immutable and
// thread safe.
class Moves {
 public:
  static Moves To(const std::vector<Substitution>& substitutions);    // from the text to the changed text
  static Moves Back(const std::vector<Substitution>& substitutions);  // from the changed text to the text

  size_t Begin(size_t at) const { return Move(at, false); }
  size_t End(size_t at) const { return Move(at, true); }

 private:
  // Bytes [begin, end) of the one text are bytes [by_begin, by_end) of the other.
  struct Place {
    size_t begin = 0, end = 0, by_begin = 0, by_end = 0;
  };

  size_t Move(size_t at, bool is_end) const;

  std::vector<Place> places_;  // in order
};

}  // namespace salient
