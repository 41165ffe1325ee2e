#include "documents/markers/spelled_markers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace salient {
namespace {

constexpr std::string_view kBegin = "\u27e6", kEnd = "\u27e7";  // mathematical white square brackets
constexpr size_t kMostDigits = 3;

std::string Spelling(int32_t number) { return std::string(kBegin).append(std::to_string(number)).append(kEnd); }

struct Spelled {
  size_t begin = 0, end = 0;
  int32_t number = 0;
};

// The first marker from byte `from` on.
std::optional<Spelled> FindSpelled(std::string_view text, size_t from) {
  for (size_t at = text.find(kBegin, from); at != text.npos; at = text.find(kBegin, at + 1)) {
    const size_t digits = at + kBegin.size();
    const size_t end = text.find_first_not_of("0123456789", digits);
    if (end == text.npos || end == digits || end - digits > kMostDigits) continue;
    if (!text.substr(end).starts_with(kEnd)) continue;
    int32_t number = 0;
    for (const char digit : text.substr(digits, end - digits)) number = 10 * number + (digit - '0');
    return Spelled{at, end + kEnd.size(), number};
  }
  return std::nullopt;
}

// Which place of [first, end) has the other marker of a pair; `end` if none.
size_t PartnerOf(const std::vector<Marker>& markers, const std::vector<MarkerPlace>& places, size_t place, size_t first,
                 size_t end) {
  const Marker& marker = markers[places[place].marker];
  if (marker.kind == MarkerKind::kStandalone) return end;
  for (size_t other = first; other < end; ++other) {
    const Marker& candidate = markers[places[other].marker];
    const bool pairs = candidate.kind != MarkerKind::kStandalone && candidate.kind != marker.kind;
    if (pairs && candidate.id == marker.id) return other;
  }
  return end;
}

bool IsSpaceAt(std::string_view text, size_t at) { return at < text.size() && text[at] == ' '; }

}  // namespace

bool SpellMarkers(const std::vector<Marker>& markers, MarkedText source, const std::vector<ByteRange>& terms,
                  int32_t most, SpelledSegment* spelled) {
  *spelled = {};
  if (FindSpelled(source.text, 0).has_value()) return false;  // it could not be told from a marker
  const std::vector<MarkerPlace>& places = source.places;
  size_t first = 0, end = places.size();
  // Whole pairs around the segment, and halves of pairs of which the other half is in another segment.
  while (first < end) {
    const MarkerPlace &left = places[first], &right = places[end - 1];
    const size_t of_left = PartnerOf(markers, places, first, first, end);
    const size_t of_right = PartnerOf(markers, places, end - 1, first, end);
    const bool left_pairs = markers[left.marker].kind != MarkerKind::kStandalone && left.at == 0;
    const bool right_pairs = markers[right.marker].kind != MarkerKind::kStandalone && right.at == source.text.size();
    const bool whole = left_pairs && right_pairs && of_left + 1 == end;
    if (whole || (right_pairs && of_right == end)) spelled->after.push_back(places[--end].marker);
    if (first < end && (whole || (left_pairs && of_left == end))) {
      spelled->before.push_back(places[first++].marker);
    } else if (!(right_pairs && of_right == end)) {
      break;
    }
  }
  std::reverse(spelled->after.begin(), spelled->after.end());

  // Pairs get two neighbours, the even one for what opens; all others an even number of their own.
  std::vector<int32_t> number_of(places.size(), -1);
  int32_t next = 0;
  const auto take = [&](size_t place, int32_t number) {
    number_of[place] = number;
    spelled->place_of.resize(std::max<size_t>(spelled->place_of.size(), number + 1), -1);
    spelled->place_of[number] = static_cast<int32_t>(place);
  };
  for (size_t place = first; place < end; ++place) {
    if (number_of[place] >= 0) continue;
    if (next + 1 >= most) return false;
    const size_t partner = PartnerOf(markers, places, place, first, end);
    take(place, next);
    if (partner != end) take(partner, next + 1);
    next += 2;
  }
  // At the same place a term closes before markers, and opens after them.
  struct Mark {
    size_t at = 0;
    int32_t order = 0, number = 0;
  };
  std::vector<Mark> marks;
  for (size_t place = first; place < end; ++place) marks.push_back({places[place].at, 1, number_of[place]});
  for (const ByteRange& term : terms) {
    spelled->term_numbers.push_back(next + 1 < most ? next : -1);
    if (next + 1 >= most) continue;
    marks.push_back({term.begin, 2, next});
    marks.push_back({term.end, 0, next + 1});
    next += 2;
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; });
  size_t done = 0;
  for (const Mark& mark : marks) {
    spelled->text.append(source.text, done, mark.at - done).append(Spelling(mark.number));
    done = mark.at;
  }
  spelled->text.append(source.text, done);
  spelled->source = std::move(source);
  return true;
}

MarkedText ReadSpelled(const std::vector<Marker>& markers, const SpelledSegment& spelled,
                       std::string_view translation) {
  MarkedText marked;
  for (const int32_t marker : spelled.before) marked.places.push_back({0, marker});
  const std::string& source = spelled.source.text;
  size_t done = 0;
  while (const std::optional<Spelled> found = FindSpelled(translation, done)) {
    marked.text.append(translation.substr(done, found->begin - done));
    done = found->end;
    const bool known = found->number < static_cast<int32_t>(spelled.place_of.size());
    const int32_t index = known ? spelled.place_of[found->number] : -1;
    if (index < 0) continue;
    const MarkerPlace& of_source = spelled.source.places[index];
    const MarkerKind kind = markers[of_source.marker].kind;
    // White space goes where the source has it: out of a pair that has none at its ends.
    if (kind == MarkerKind::kOpen && !IsSpaceAt(source, of_source.at) && IsSpaceAt(translation, done)) {
      if (!marked.text.empty() && marked.text.back() != ' ') marked.text.push_back(' ');
      ++done;
    }
    size_t at = marked.text.size();
    const bool after_text = at > 0 && (marked.places.empty() || marked.places.back().at < at);
    const bool source_has_space = of_source.at > 0 && source[of_source.at - 1] == ' ';
    if (kind == MarkerKind::kClose && !source_has_space && after_text && marked.text.back() == ' ') {
      --at;
      if (IsSpaceAt(translation, done)) ++done;
    }
    marked.places.push_back({at, of_source.marker});
  }
  marked.text.append(translation.substr(done));
  for (const int32_t marker : spelled.after) marked.places.push_back({marked.text.size(), marker});
  return marked;
}

bool ReplaceSpelled(int32_t number, absl::FunctionRef<std::string(std::string_view said)> form,
                    std::string* translation) {
  const std::string opening = Spelling(number), closing = Spelling(number + 1);
  const size_t begin = translation->find(opening);
  if (begin == std::string::npos) return false;
  const size_t from = begin + opening.size(), end = translation->find(closing, from);
  if (end == std::string::npos) return false;
  const std::string_view between = std::string_view(*translation).substr(from, end - from);
  std::string others;
  size_t done = 0;
  while (const std::optional<Spelled> found = FindSpelled(between, done)) {
    others.append(between.substr(found->begin, found->end - found->begin));
    done = found->end;
  }
  const std::string said = WithoutSpelled(between);
  const size_t first = std::min(said.find_first_not_of(' '), said.size());
  std::string made = std::string(between.starts_with(' ') ? " " : "") + form(said.substr(first)) + others;
  if (between.ends_with(' ')) made.push_back(' ');
  translation->replace(begin, end + closing.size() - begin, made);
  return true;
}

std::string WithoutSpelled(std::string_view text) {
  std::string without;
  size_t done = 0;
  while (const std::optional<Spelled> found = FindSpelled(text, done)) {
    without.append(text.substr(done, found->begin - done));
    done = found->end;
    if ((without.empty() || without.back() == ' ') && IsSpaceAt(text, done)) ++done;
  }
  without.append(text.substr(done));
  while (!without.empty() && without.back() == ' ') without.pop_back();
  return without;
}

}  // namespace salient
