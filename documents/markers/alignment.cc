#include "documents/markers/alignment.h"

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace salient {
namespace {

constexpr size_t kMostAnchored = 1000;  // words of either side in which equal ones are looked for
constexpr float kEqual = 1e9f;          // the weight of a word that is its own translation: more than any other has
constexpr size_t kTwice = static_cast<size_t>(-1);

// Pairs of equal words, the longest sequence that keeps the order of both.
std::vector<std::pair<size_t, size_t>> Anchors(const std::vector<std::string>& source,
                                               const std::vector<std::string>& target) {
  const size_t rows = source.size(), columns = target.size();
  if (rows > kMostAnchored || columns > kMostAnchored) return {};
  const auto anchors = [&](size_t i, size_t j) { return source[i].size() > 1 && source[i] == target[j]; };
  std::vector<uint16_t> longest((rows + 1) * (columns + 1));
  const auto at = [&](size_t i, size_t j) -> uint16_t& { return longest[i * (columns + 1) + j]; };
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      at(i, j) = anchors(i, j) ? static_cast<uint16_t>(at(i + 1, j + 1) + 1) : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0, j = 0; i < rows && j < columns;) {
    if (anchors(i, j) && at(i, j) == at(i + 1, j + 1) + 1) {
      pairs.emplace_back(i++, j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

// The index of each word that a text has once.
std::unordered_map<std::string_view, size_t> WordsThereOnce(std::string_view text,
                                                            const std::vector<ByteRange>& words) {
  std::unordered_map<std::string_view, size_t> found;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [word, is_new] = found.emplace(text.substr(words[i].begin, words[i].end - words[i].begin), i);
    if (!is_new) word->second = kTwice;
  }
  std::erase_if(found, [](const auto& word) { return word.second == kTwice; });
  return found;
}

// A word that each text has once is its own translation.
void LinkEqualWords(std::string_view source, std::string_view translation, Alignment* alignment) {
  const auto of_source = WordsThereOnce(source, alignment->source);
  for (const auto& [word, t] : WordsThereOnce(translation, alignment->target)) {
    const auto equal = of_source.find(word);
    if (equal != of_source.end()) alignment->links[t] = {{static_cast<int32_t>(equal->second), kEqual}};
  }
}

// The source word that a target word is linked with most.
int32_t Strongest(const std::vector<Link>& links) { return std::ranges::max_element(links, {}, &Link::weight)->source; }

// Words without a link are linked by their place between their neighbours, if there are about as many words between the
// source words of these. Otherwise the order is another one, and their place says nothing.
void LinkBetween(Alignment* alignment) {
  auto& links = alignment->links;
  if (alignment->source.empty()) return;
  const auto last = static_cast<int32_t>(alignment->source.size()) - 1;
  for (size_t begin = 0; begin < links.size();) {
    if (!links[begin].empty()) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < links.size() && links[end].empty()) ++end;
    const int32_t before = begin > 0 ? Strongest(links[begin - 1]) : -1;
    const int32_t after = end < links.size() ? Strongest(links[end]) : last + 1;
    const auto steps = static_cast<int32_t>(end - begin) + 1;
    const bool in_order = before <= after && after - before <= steps + 1;
    for (size_t t = begin; in_order && t < end; ++t) {
      const double place = static_cast<double>(t - begin + 1) / steps;
      const auto at = static_cast<int32_t>(std::lround(before + place * (after - before)));
      links[t].push_back({std::clamp(at, 0, last), 1.0f});
    }
    begin = end;
  }
}

}  // namespace

std::vector<ByteRange> WordsOf(std::string_view text) {
  std::vector<ByteRange> words;
  UErrorCode error = U_ZERO_ERROR;
  static thread_local const std::unique_ptr<icu::BreakIterator> iterator(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), error));
  UText* source = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error);
  if (U_FAILURE(error) || iterator == nullptr) return words;
  iterator->setText(source, error);
  size_t begin = 0;
  for (int32_t at = iterator->next(); at != icu::BreakIterator::DONE; at = iterator->next()) {
    const size_t end = static_cast<size_t>(at);
    UChar32 c = 0;
    size_t first = begin;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), first, text.size(), c);
    if (!u_isUWhiteSpace(c)) words.push_back({begin, end});
    begin = end;
  }
  utext_close(source);
  return words;
}

Alignment AlignByPlace(std::string_view source, std::string_view translation) {
  Alignment alignment{WordsOf(source), WordsOf(translation)};
  const auto texts = [](std::string_view text, const std::vector<ByteRange>& words) {
    std::vector<std::string> copies;
    for (const ByteRange& word : words) copies.emplace_back(text.substr(word.begin, word.end - word.begin));
    return copies;
  };
  const size_t rows = alignment.source.size(), columns = alignment.target.size();
  std::vector<std::pair<size_t, size_t>> anchors =
      Anchors(texts(source, alignment.source), texts(translation, alignment.target));
  anchors.emplace_back(rows, columns);
  alignment.links.resize(columns);
  size_t source_begin = 0, target_begin = 0;  // of the stretch before the next anchor
  for (const auto& [i, j] : anchors) {
    for (size_t t = target_begin; t < j && source_begin < i; ++t) {
      const double place = (static_cast<double>(t - target_begin) + 0.5) / static_cast<double>(j - target_begin);
      const size_t s = source_begin + static_cast<size_t>(place * static_cast<double>(i - source_begin));
      alignment.links[t].push_back({static_cast<int32_t>(std::min(s, i - 1)), 1.0f});
    }
    if (i < rows && j < columns) alignment.links[j].push_back({static_cast<int32_t>(i), 1.0f});
    source_begin = i + 1;
    target_begin = j + 1;
  }
  return alignment;
}

Alignment AlignWithItself(std::string_view text) {
  Alignment alignment;
  alignment.source = alignment.target = WordsOf(text);
  for (size_t word = 0; word < alignment.target.size(); ++word) {
    alignment.links.push_back({{static_cast<int32_t>(word), 1.0f}});
  }
  return alignment;
}

Alignment AlignByLinks(std::string_view source, std::string_view translation, const std::vector<TokenLink>& links) {
  Alignment alignment{WordsOf(source), WordsOf(translation)};
  alignment.links.resize(alignment.target.size());
  // The bytes that a link has in common with a word.
  const auto shared = [](const ByteRange& word, int32_t begin, int32_t end) {
    const size_t from = std::max<size_t>(word.begin, begin), to = std::min<size_t>(word.end, end);
    return static_cast<float>(to - std::min(from, to));
  };
  const auto first_after = [](const std::vector<ByteRange>& words, int32_t byte) {
    const auto ends_before = [](const ByteRange& word, size_t at) { return word.end <= at; };
    return std::lower_bound(words.begin(), words.end(), static_cast<size_t>(byte), ends_before) - words.begin();
  };
  for (const TokenLink& link : links) {
    if (link.source_begin < 0 || link.target_begin < 0) continue;
    for (size_t t = first_after(alignment.target, link.target_begin); t < alignment.target.size(); ++t) {
      const float of_target = shared(alignment.target[t], link.target_begin, link.target_end);
      if (of_target <= 0) break;
      for (size_t s = first_after(alignment.source, link.source_begin); s < alignment.source.size(); ++s) {
        const float of_source = shared(alignment.source[s], link.source_begin, link.source_end);
        if (of_source <= 0) break;
        alignment.links[t].push_back({static_cast<int32_t>(s), of_target * of_source});
      }
    }
  }
  LinkEqualWords(source, translation, &alignment);
  LinkBetween(&alignment);
  return alignment;
}

void AppendAlignment(const Alignment& part, size_t source_offset, size_t target_offset, Alignment* alignment) {
  const int32_t words = static_cast<int32_t>(alignment->source.size());
  for (const ByteRange& word : part.source) {
    alignment->source.push_back({word.begin + source_offset, word.end + source_offset});
  }
  for (const ByteRange& word : part.target) {
    alignment->target.push_back({word.begin + target_offset, word.end + target_offset});
  }
  for (std::vector<Link> links : part.links) {
    for (Link& link : links) link.source += words;
    alignment->links.push_back(std::move(links));
  }
}

}  // namespace salient
