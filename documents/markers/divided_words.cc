#include "documents/markers/divided_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "documents/characters.h"

namespace salient {
namespace {

std::string_view TextOf(std::string_view text, const ByteRange& word) {
  return text.substr(word.begin, word.end - word.begin);
}

// The parts of a word between the markers in it.
std::vector<ByteRange> PartsOf(const Unit& unit, const ByteRange& word) {
  std::vector<ByteRange> parts = {word};
  const auto begins_after = [](size_t at, const MarkerPlace& place) { return at < place.at; };
  const auto& places = unit.source.places;
  auto place = std::upper_bound(places.begin(), places.end(), word.begin, begins_after);
  for (; place != places.end() && place->at < word.end; ++place) {
    if (place->at == parts.back().begin) continue;
    parts.back().end = place->at;
    parts.push_back({place->at, word.end});
  }
  return parts;
}

// Bytes of a target word, and the parts [first, end) of a source word that they are the translation of.
struct Piece {
  ByteRange target;
  size_t first = 0, end = 0;
};

// A target word that has parts of a source word in it.
struct Division {
  int32_t source = 0;
  std::vector<Piece> pieces;  // none: it has no parts in it
};

// The pieces of a target word that is the source word or a part of it; or has another word before or behind the same
// parts without letters, such as "Haus1" for "house1"; or goes on behind a source word that ends with such a part, such
// as "106mal" for "106". Otherwise none.
std::vector<Piece> PiecesOf(std::string_view source, const std::vector<ByteRange>& parts, std::string_view translation,
                            const ByteRange& target) {
  const size_t count = parts.size();
  const std::string_view word = TextOf(translation, target);
  for (size_t k = 0; k < count; ++k) {
    if (word == TextOf(source, parts[k])) return {{target, k, k + 1}};
  }
  // Parts before `head` and from `tail` on have no letters.
  const auto has_letter = [source](const ByteRange& part) { return HasLetter(TextOf(source, part)); };
  const auto head = static_cast<size_t>(std::find_if(parts.begin(), parts.end(), has_letter) - parts.begin());
  const auto tail = static_cast<size_t>(parts.rend() - std::find_if(parts.rbegin(), parts.rend(), has_letter));
  const size_t begin = parts.front().begin, end = parts.back().end;
  const std::string_view whole = TextOf(source, {begin, end});
  std::vector<Piece> pieces;
  // Adds parts that stand in the translation as in the source, from byte `at` on. Returns the byte after them.
  const auto add = [&](size_t at, size_t first, size_t last) {
    for (size_t k = first; k < last; ++k) {
      const size_t size = parts[k].end - parts[k].begin;
      pieces.push_back({{at, at + size}, k, k + 1});
      at += size;
    }
    return at;
  };
  // A number that goes on is another one.
  const auto is_digit = [word](size_t at) { return absl::ascii_isdigit(static_cast<unsigned char>(word[at])); };
  if (word == whole || (tail < count && word.starts_with(whole) && !is_digit(whole.size()))) {
    const size_t at = add(target.begin, 0, count);
    if (at < target.end) pieces.push_back({{at, target.end}, count, count});
    return pieces;
  }
  if (tail > 0 && tail < count) {
    const std::string_view mark = TextOf(source, {parts[tail].begin, end});
    if (word.size() > mark.size() && word.ends_with(mark) && !is_digit(word.size() - mark.size() - 1)) {
      const size_t at = target.end - mark.size();
      pieces.push_back({{target.begin, at}, 0, tail});
      add(at, tail, count);
      return pieces;
    }
  }
  if (head > 0 && head < count) {
    const std::string_view mark = TextOf(source, {begin, parts[head].begin});
    if (word.size() > mark.size() && word.starts_with(mark) && !is_digit(mark.size())) {
      const size_t at = add(target.begin, 0, head);
      pieces.push_back({{at, target.end}, head, count});
    }
  }
  return pieces;
}

}  // namespace

std::optional<Alignment> WithDividedWords(const Unit& unit, std::string_view translation, const Alignment& alignment) {
  if (unit.source.places.empty()) return std::nullopt;
  std::vector<std::vector<ByteRange>> parts;
  for (const ByteRange& word : alignment.source) parts.push_back(PartsOf(unit, word));
  std::vector<Division> divisions(alignment.target.size());
  std::vector<bool> is_divided(alignment.source.size());
  for (size_t t = 0; t < alignment.target.size(); ++t) {
    const std::vector<Link>& links = alignment.links[t];
    if (links.empty()) continue;
    const int32_t strongest = std::ranges::max_element(links, {}, &Link::weight)->source;
    float most = 0;
    for (const Link& link : links) {
      if (parts[link.source].size() == 1 || link.weight <= most) continue;
      std::vector<Piece> pieces = PiecesOf(unit.source.text, parts[link.source], translation, alignment.target[t]);
      // One piece may as well be another word of the source.
      if (pieces.empty() || (pieces.size() == 1 && link.source != strongest)) continue;
      most = link.weight;
      divisions[t] = {link.source, std::move(pieces)};
    }
    if (!divisions[t].pieces.empty()) is_divided[divisions[t].source] = true;
  }
  if (std::ranges::find(is_divided, true) == is_divided.end()) return std::nullopt;

  Alignment divided;
  std::vector<int32_t> first;  // of the parts of each source word
  for (size_t s = 0; s < parts.size(); ++s) {
    if (!is_divided[s]) parts[s] = {alignment.source[s]};
    first.push_back(static_cast<int32_t>(divided.source.size()));
    divided.source.insert(divided.source.end(), parts[s].begin(), parts[s].end());
  }
  // Links a target word with the parts [begin, end) of a source word.
  const auto link_with = [&](size_t source, size_t begin, size_t end, float weight) {
    for (size_t k = begin; k < end; ++k) {
      divided.links.back().push_back(
          {first[source] + static_cast<int32_t>(k), weight / static_cast<float>(end - begin)});
    }
  };
  for (size_t t = 0; t < alignment.target.size(); ++t) {
    const auto& [source, pieces] = divisions[t];
    const bool is_whole = pieces.empty();
    for (const Piece& piece : is_whole ? std::vector<Piece>{{alignment.target[t]}} : pieces) {
      divided.target.push_back(piece.target);
      divided.links.emplace_back();
      link_with(source, piece.first, piece.end, 1.0f);
      if (piece.first < piece.end) continue;
      // What is of no part has the links with other words.
      for (const Link& link : alignment.links[t]) {
        if (is_whole || link.source != source) link_with(link.source, 0, parts[link.source].size(), link.weight);
      }
    }
  }
  return divided;
}

}  // namespace salient
