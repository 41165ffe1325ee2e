#include "documents/syntax/markdown_emphasis.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "documents/ascii.h"

namespace salient {
namespace {

enum class Side { kSpace, kPunctuation, kWord };  // what stands beside a delimiter

Side SideOf(UChar32 c) {
  if (u_isUWhiteSpace(c)) return Side::kSpace;
  return u_ispunct(c) || (U_GET_GC_MASK(c) & U_GC_S_MASK) != 0 ? Side::kPunctuation : Side::kWord;
}

size_t CharacterEnd(std::string_view text, size_t at) {
  U8_FWD_1(reinterpret_cast<const uint8_t*>(text.data()), at, text.size());
  return at;
}

size_t CharacterBegin(std::string_view text, size_t end) {
  if (end == 0) return 0;
  U8_BACK_1(reinterpret_cast<const uint8_t*>(text.data()), 0, end);
  return end;
}

// The ends of a text count as white space.
Side First(std::string_view text) {
  if (text.empty()) return Side::kSpace;
  UChar32 c;
  U8_GET(reinterpret_cast<const uint8_t*>(text.data()), 0, 0, static_cast<int64_t>(text.size()), c);
  return SideOf(c);
}

Side Last(std::string_view text) { return First(text.substr(CharacterBegin(text, text.size()))); }

class EmphasisTidier {
 public:
  EmphasisTidier(const std::vector<Marker>& markers, MarkedText translation, std::vector<std::string>* bytes)
      : markers_(markers), text_(std::move(translation.text)), places_(std::move(translation.places)), bytes_(*bytes) {}

  MarkedText Run() {
    std::vector<int32_t> openers;
    for (const MarkerPlace& place : places_) {
      if (IsEmphasis(place) && markers_[place.marker].kind == MarkerKind::kOpen) openers.push_back(place.marker);
    }
    while (!openers.empty()) {  // what is within another comes first
      if (!Tidy(openers.back())) Remove(markers_[openers.back()].id);
      openers.pop_back();
    }
    return {std::move(text_), std::move(places_)};
  }

 private:
  bool IsEmphasis(const MarkerPlace& place) const {
    const std::string& bytes = bytes_[place.marker];
    return markers_[place.marker].kind != MarkerKind::kStandalone && !bytes.empty() && IsOneOf(bytes[0], "*_~") &&
           bytes.find_first_not_of(bytes[0]) == std::string::npos;
  }

  void Remove(int32_t id) {
    std::erase_if(places_, [this, id](const MarkerPlace& place) {
      return markers_[place.marker].id == id && markers_[place.marker].kind != MarkerKind::kStandalone;
    });
  }

  // What is before and after places_[i], beyond the delimiters that Markdown reads together with it.
  Side Before(size_t i) const {
    const char delimiter = bytes_[places_[i].marker][0];
    for (size_t k = i; k-- > 0 && places_[k].at == places_[i].at;) {
      const std::string& bytes = bytes_[places_[k].marker];
      if (!IsEmphasis(places_[k]) || bytes[0] != delimiter) return Last(bytes);
    }
    return Last(std::string_view(text_).substr(0, places_[i].at));
  }
  Side After(size_t i) const {
    const char delimiter = bytes_[places_[i].marker][0];
    for (size_t k = i + 1; k < places_.size() && places_[k].at == places_[i].at; ++k) {
      const std::string& bytes = bytes_[places_[k].marker];
      if (!IsEmphasis(places_[k]) || bytes[0] != delimiter) return First(bytes);
    }
    return First(std::string_view(text_).substr(places_[i].at));
  }

  bool HoldsSomething(size_t open, size_t close) const {
    for (size_t k = open + 1; k < close; ++k) {
      if (!IsEmphasis(places_[k])) return true;
    }
    const std::string_view text =
        std::string_view(text_).substr(places_[open].at, places_[close].at - places_[open].at);
    for (size_t at = 0; at < text.size(); at = CharacterEnd(text, at)) {
      if (First(text.substr(at)) != Side::kSpace) return true;
    }
    return false;
  }

  // Moves places_[*i] by a character or a marker. False if another pair begins or ends there.
  bool MoveRight(size_t* i) {
    MarkerPlace& place = places_[*i];
    MarkerPlace& next = places_[*i + 1];
    if (next.at > place.at) {
      place.at = CharacterEnd(text_, place.at);
      return true;
    }
    if (markers_[next.marker].kind != MarkerKind::kStandalone) return false;
    std::swap(place, next);
    ++*i;
    return true;
  }
  bool MoveLeft(size_t* i) {
    MarkerPlace& place = places_[*i];
    MarkerPlace& before = places_[*i - 1];
    if (before.at < place.at) {
      place.at = CharacterBegin(text_, place.at);
      return true;
    }
    if (markers_[before.marker].kind != MarkerKind::kStandalone) return false;
    std::swap(place, before);
    --*i;
    return true;
  }

  // Gives a pair a place where it is read. False if there is none.
  bool Tidy(int32_t opener) {
    const auto of_pair = [this, opener](const MarkerPlace& place) {
      return markers_[place.marker].id == markers_[opener].id && markers_[place.marker].kind != MarkerKind::kStandalone;
    };
    auto found = std::find_if(places_.begin(), places_.end(), of_pair);
    size_t open = static_cast<size_t>(found - places_.begin());
    found = std::find_if(found + 1, places_.end(), of_pair);
    if (found == places_.end()) return false;
    size_t close = static_cast<size_t>(found - places_.begin());
    while (HoldsSomething(open, close)) {
      const Side before = Before(open), first = After(open), last = Before(close), after = After(close);
      if (first == Side::kSpace || (first == Side::kPunctuation && before == Side::kWord)) {
        if (!MoveRight(&open)) return false;
      } else if (last == Side::kSpace || (last == Side::kPunctuation && after == Side::kWord)) {
        if (!MoveLeft(&close)) return false;
      } else {
        if (before == Side::kWord || after == Side::kWord) LeaveUnderscores(places_[open], places_[close]);
        return !TouchesNext(close);
      }
    }
    return false;
  }

  // Those within a word are text.
  void LeaveUnderscores(const MarkerPlace& open, const MarkerPlace& close) {
    for (const MarkerPlace& place : {open, close}) {
      std::ranges::replace(bytes_[place.marker], '_', '*');
    }
  }

  // Whether another pair begins where this one ends, such that Markdown cannot tell the delimiters apart.
  bool TouchesNext(size_t close) const {
    for (size_t k = close + 1; k < places_.size() && places_[k].at == places_[close].at; ++k) {
      if (!IsEmphasis(places_[k]) || bytes_[places_[k].marker][0] != bytes_[places_[close].marker][0]) return false;
      if (markers_[places_[k].marker].kind == MarkerKind::kOpen) return true;
    }
    return false;
  }

  const std::vector<Marker>& markers_;
  std::string text_;
  std::vector<MarkerPlace> places_;
  std::vector<std::string>& bytes_;
};

}  // namespace

MarkedText WithReadableEmphasis(const std::vector<Marker>& markers, MarkedText translation,
                                std::vector<std::string>* bytes) {
  return EmphasisTidier(markers, std::move(translation), bytes).Run();
}

}  // namespace salient
