#include "documents/markers/divided_words.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace salient {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

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

// What a target word is of the source word that it is linked with most.
struct Same {
  bool whole = false;
  size_t part = kNone;
};

}  // namespace

std::optional<Alignment> WithDividedWords(const Unit& unit, std::string_view translation, const Alignment& alignment) {
  const std::string_view source = unit.source.text;
  if (unit.source.places.empty()) return std::nullopt;
  std::vector<std::vector<ByteRange>> parts;
  for (const ByteRange& word : alignment.source) parts.push_back(PartsOf(unit, word));
  std::vector<Same> same(alignment.target.size());
  std::vector<int32_t> strongest(alignment.target.size());
  bool divides = false;
  for (size_t t = 0; t < alignment.target.size(); ++t) {
    if (alignment.links[t].empty()) continue;
    strongest[t] = std::ranges::max_element(alignment.links[t], {}, &Link::weight)->source;
    const std::vector<ByteRange>& of_source = parts[strongest[t]];
    if (of_source.size() == 1) continue;
    const std::string_view word = TextOf(translation, alignment.target[t]);
    same[t].whole = word == TextOf(source, alignment.source[strongest[t]]);
    for (size_t k = 0; k < of_source.size(); ++k) {
      if (word == TextOf(source, of_source[k])) same[t].part = k;
    }
    divides = divides || same[t].whole || same[t].part != kNone;
  }
  if (!divides) return std::nullopt;

  Alignment divided;
  std::vector<int32_t> first;  // of the parts of each source word
  for (const std::vector<ByteRange>& of_source : parts) {
    first.push_back(static_cast<int32_t>(divided.source.size()));
    divided.source.insert(divided.source.end(), of_source.begin(), of_source.end());
  }
  for (size_t t = 0; t < alignment.target.size(); ++t) {
    const ByteRange& word = alignment.target[t];
    if (same[t].whole) {
      const size_t source_begin = alignment.source[strongest[t]].begin;
      int32_t next = first[strongest[t]];
      for (const ByteRange& part : parts[strongest[t]]) {
        divided.target.push_back({word.begin + part.begin - source_begin, word.begin + part.end - source_begin});
        divided.links.push_back({{next++, 1.0f}});
      }
      continue;
    }
    divided.target.push_back(word);
    divided.links.emplace_back();
    if (same[t].part != kNone) {
      divided.links.back() = {{first[strongest[t]] + static_cast<int32_t>(same[t].part), 1.0f}};
      continue;
    }
    for (const Link& link : alignment.links[t]) {
      const size_t count = parts[link.source].size();
      for (size_t k = 0; k < count; ++k) {
        divided.links.back().push_back(
            {first[link.source] + static_cast<int32_t>(k), link.weight / static_cast<float>(count)});
      }
    }
  }
  return divided;
}

}  // namespace salient
