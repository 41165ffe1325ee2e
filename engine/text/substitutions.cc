#include "engine/text/substitutions.h"

#include <algorithm>
#include <utility>

namespace salient {

std::string Substituted(std::string_view text, const std::vector<Substitution>& substitutions) {
  std::string changed;
  size_t from = 0;
  for (const Substitution& substitution : substitutions) {
    changed.append(text.substr(from, substitution.begin - from)).append(substitution.by);
    from = substitution.end;
  }
  return changed.append(text.substr(from));
}

Moves Moves::To(const std::vector<Substitution>& substitutions) {
  Moves moves;
  size_t from = 0, size = 0;  // of the text and of the changed text so far
  for (const Substitution& substitution : substitutions) {
    size += substitution.begin - from;
    moves.places_.push_back({substitution.begin, substitution.end, size, size + substitution.by.size()});
    size += substitution.by.size();
    from = substitution.end;
  }
  return moves;
}

Moves Moves::Back(const std::vector<Substitution>& substitutions) {
  Moves moves = To(substitutions);
  for (Place& place : moves.places_) {
    std::swap(place.begin, place.by_begin);
    std::swap(place.end, place.by_end);
  }
  return moves;
}

size_t Moves::Move(size_t at, bool is_end) const {
  const auto after =
      std::partition_point(places_.begin(), places_.end(), [at](const Place& place) { return place.begin < at; });
  if (after == places_.begin()) return at;
  const Place& place = *(after - 1);
  if (at >= place.end) return at - place.end + place.by_end;
  return is_end ? place.by_end : place.by_begin;
}

}  // namespace salient
