#include "documents/markers/projection.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/markers/divided_words.h"

namespace salient {
namespace {

// What has more is placed in a simpler way, so that time and memory are bounded.
constexpr size_t kMostPaired = 256;                  // markers of a unit whose pairs are placed by what is in them
constexpr size_t kMostSingleWork = size_t{1} << 22;  // markers by themselves, times the places between words
constexpr size_t kNowhere = static_cast<size_t>(-1);

bool HasLettersOrDigits(std::string_view text) {
  const ByteRange inner = LettersAndDigits(text);
  return inner.begin < inner.end;
}

// Target words [begin, end).
struct Span {
  size_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// A marker by itself, or a pair with what is in it.
struct Node {
  int32_t open = -1, close = -1;            // indexes of markers; `close` of a pair only
  size_t source_begin = 0, source_end = 0;  // source words within; equal: between two words
  bool ordered = false;
  std::vector<Node> children;
  Span place;  // target words; empty: before the word `begin`

  bool is_pair() const { return close >= 0; }
};

class Projector {
 public:
  Projector(const Unit& unit, std::string_view translation, const Alignment& alignment, bool fills_pairs)
      : unit_(unit),
        translation_(translation),
        alignment_(alignment),
        fills_pairs_(fills_pairs),
        words_(alignment.target.size()) {
    totals_.reserve(words_);
    for (const auto& links : alignment.links) {
      float total = 0;
      for (const Link& link : links) total += link.weight;
      totals_.push_back(total);
    }
    FindSecondary();
  }

  MarkedText Run() {
    if (unit_.source.places.size() > kMostPaired) return Attempt(/*all_ordered=*/true);
    MarkedText placed = Attempt(/*all_ordered=*/false);
    // Ordered markers in different pairs may have changed places; in the order of the source nothing can be wrong.
    return CheckMarkers(unit_.markers, placed).ok() ? placed : Attempt(/*all_ordered=*/true);
  }

 private:
  MarkedText Attempt(bool all_ordered) {
    Node root;
    root.source_end = alignment_.source.size();
    root.place = {0, words_};
    if (all_ordered) {
      for (const MarkerPlace& place : unit_.source.places) root.children.push_back(Single(place, /*ordered=*/true));
    } else {
      size_t next = 0;
      Gather(&next, -1, &root);
    }
    Place(root);
    out_ = {};
    copied_ = 0;
    shown_end_ = kNowhere;
    EmitChildren(root);
    CopyTo(translation_.size());
    return std::move(out_);
  }

  // ---- What there is to place.

  // How many words of the source end at byte `at` or before it, and how many begin before it.
  size_t WordsBefore(size_t at) const {
    const auto ends = [at](const ByteRange& word) { return word.end <= at; };
    return static_cast<size_t>(std::ranges::partition_point(alignment_.source, ends) - alignment_.source.begin());
  }
  size_t WordsBegun(size_t at) const {
    const auto begins = [at](const ByteRange& word) { return word.begin < at; };
    return static_cast<size_t>(std::ranges::partition_point(alignment_.source, begins) - alignment_.source.begin());
  }

  Node Single(const MarkerPlace& place, bool ordered) const {
    Node node;
    node.open = place.marker;
    node.source_begin = node.source_end = WordsBefore(place.at);
    node.ordered = ordered;
    return node;
  }

  // Takes places from *next on as children, up to the marker that closes `id`.
  void Gather(size_t* next, int32_t id, Node* parent) const {
    const auto& places = unit_.source.places;
    while (*next < places.size()) {
      const MarkerPlace& place = places[*next];
      const Marker& marker = unit_.markers[place.marker];
      ++*next;
      if (marker.kind == MarkerKind::kClose) {
        if (marker.id != id) continue;
        parent->close = place.marker;
        const bool is_empty = place.at == places[parent->open].at;
        if (!is_empty) parent->source_end = std::max(parent->source_begin, WordsBegun(place.at));
        return;
      }
      Node node = Single(place, marker.ordered);
      if (marker.kind == MarkerKind::kOpen) Gather(next, marker.id, &node);
      parent->children.push_back(std::move(node));
    }
  }

  // ---- Where it goes.

  // A function word often attends to the word of another target word: "Klicken Sie auf Speichern" of "Click Save".
  void FindSecondary() {
    std::vector<int32_t> strongest(words_, -1);
    std::vector<float> most(alignment_.source.size());  // the strongest link of each source word
    const auto by_weight = [](const Link& a, const Link& b) { return a.weight < b.weight; };
    for (size_t t = 0; t < words_; ++t) {
      const std::vector<Link>& links = alignment_.links[t];
      if (links.empty()) continue;
      const Link& link = *std::max_element(links.begin(), links.end(), by_weight);
      strongest[t] = link.source;
      most[link.source] = std::max(most[link.source], link.weight);
    }
    secondary_.resize(words_);
    for (size_t t = 0; t < words_; ++t) {
      if (strongest[t] < 0) continue;
      const auto joins = [&](size_t a, size_t b) {  // parts of one word
        return strongest[a] == strongest[b] && alignment_.target[a].end == alignment_.target[b].begin;
      };
      if ((t > 0 && joins(t - 1, t)) || (t + 1 < words_ && joins(t, t + 1))) continue;
      const auto weight = std::max_element(alignment_.links[t].begin(), alignment_.links[t].end(), by_weight)->weight;
      secondary_[t] = weight < most[strongest[t]];
    }
  }

  float Weight(size_t target, size_t source) const {
    float weight = 0;
    for (const Link& link : alignment_.links[target]) {
      if (link.source == static_cast<int32_t>(source)) weight += link.weight;
    }
    return totals_[target] > 0 ? weight / totals_[target] : 0;
  }

  // A target word, and which share of its weight is inside a pair.
  struct WordShare {
    size_t word = 0;
    float share = 0;
  };
  // A pair to be placed, and the words that have a share in it, from left to right.
  struct Choice {
    Node* pair = nullptr;
    std::vector<WordShare> shares;
  };

  std::vector<WordShare> SharesOf(const Node& node, Span words) const {
    std::vector<WordShare> shares;
    for (size_t t = words.begin; t < words.end; ++t) {
      float weight = 0;
      for (const Link& link : alignment_.links[t]) {
        const size_t source = static_cast<size_t>(link.source);
        if (source >= node.source_begin && source < node.source_end) weight += link.weight;
      }
      if (weight > 0) shares.push_back({t, weight / totals_[t] * (secondary_[t] ? 0.5f : 1.0f)});
    }
    return shares;
  }

  // The best stretch for a pair within `free`, and its sum; a single word where no stretch has the most of its weight.
  static std::pair<Span, float> BestSpan(const std::vector<WordShare>& shares, Span free) {
    Span best{free.begin, free.begin}, single = best;
    float best_sum = 0, best_share = 0, sum = 0;
    size_t begin = free.begin, done = free.begin;
    const auto is_before = [&free](const WordShare& known) { return known.word < free.begin; };
    for (auto at = std::ranges::partition_point(shares, is_before); at != shares.end() && at->word < free.end; ++at) {
      const auto [t, share] = *at;
      if (share > best_share) {
        best_share = share;
        single = {t, t + 1};
      }
      sum -= 0.5f * static_cast<float>(t - done);  // of the words between, which have none
      if (sum <= 0) {
        sum = 0;
        begin = t;
      }
      sum += share - 0.5f;
      done = t + 1;
      if (sum > best_sum) {
        best_sum = sum;
        best = {begin, done};
      }
    }
    if (best_sum > 0) return {best, best_sum};
    return {single, best_share - 1};  // less than any stretch
  }

  // A word for a pair that has no share of any, because a link without text cannot be clicked: a free one between the
  // translations of the words before and after the pair, and nearest to its place in the text. Sets *where to the
  // stretch of `free` that has it. Empty if there is none, or if the pair has no word in the source.
  Span WordBetween(const Node& parent, const Node& pair, const std::vector<Span>& free, size_t* where) const {
    Span best;
    const size_t begin = unit_.source.places[pair.open].at;
    if (!HasLettersOrDigits(std::string_view(unit_.source.text).substr(begin, EndOf(pair) - begin))) return best;
    const double middle = static_cast<double>(parent.place.begin) +
                          (ExpectedWords(parent, pair.source_begin) + ExpectedWords(parent, pair.source_end)) / 2;
    double best_score = -1;
    for (size_t f = 0; f < free.size(); ++f) {
      for (size_t word = free[f].begin; word < free[f].end; ++word) {
        if (!HasLetters(word)) continue;
        double score = -std::abs(static_cast<double>(word) + 0.5 - middle) / static_cast<double>(words_ + 1);
        if (word > 0 && pair.source_begin > 0) score += Weight(word - 1, pair.source_begin - 1);
        if (word + 1 < words_) score += Weight(word + 1, pair.source_end);
        if (score <= best_score) continue;
        best_score = score;
        best = {word, word + 1};
        *where = f;
      }
    }
    return best;
  }

  void Place(Node& parent) {
    std::vector<Span> free = {parent.place};
    std::vector<Choice> pairs;
    std::vector<Node*> singles;
    for (Node& child : parent.children) {
      if (child.is_pair() && child.source_end > child.source_begin) {
        pairs.push_back({&child, SharesOf(child, parent.place)});
      } else {
        singles.push_back(&child);
      }
    }
    // Those whose place is clearest choose first.
    while (!pairs.empty()) {
      size_t chosen = 0, where = 0;
      std::pair<Span, float> best{{parent.place.begin, parent.place.begin}, -2};
      for (size_t p = 0; p < pairs.size(); ++p) {
        for (size_t f = 0; f < free.size(); ++f) {
          const std::pair<Span, float> candidate = BestSpan(pairs[p].shares, free[f]);
          if (candidate.first.empty() || candidate.second <= best.second) continue;
          best = candidate;
          chosen = p;
          where = f;
        }
      }
      Node& pair = *pairs[chosen].pair;
      pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(chosen));
      if (best.first.empty() && fills_pairs_) best.first = WordBetween(parent, pair, free, &where);
      if (best.first.empty()) {  // no word is left for it
        singles.push_back(&pair);
        continue;
      }
      pair.place = best.first;
      const Span outer = free[where];
      free[where] = {outer.begin, pair.place.begin};
      free.insert(free.begin() + static_cast<std::ptrdiff_t>(where) + 1, {pair.place.end, outer.end});
    }
    PlaceSingles(parent, singles, free);
    for (Node& child : parent.children) {
      if (child.is_pair()) Place(child);
    }
  }

  // How many of the parent's target words stand before a source word, or a marker before it, that keeps its place in
  // the text.
  static double ExpectedWords(const Node& parent, size_t source_word) {
    const double source_words = std::max<double>(1, static_cast<double>(parent.source_end - parent.source_begin));
    const double target_words = static_cast<double>(parent.place.end - parent.place.begin);
    const size_t before = source_word - std::min(source_word, parent.source_begin);
    return static_cast<double>(before) / source_words * target_words;
  }

  // How well a marker stands before target word `gap`: higher is better. Of the words before and after it in the source
  // one that it touches counts twice, if a space is on its other side. Closing punctuation after it is not found
  // in words: the last words of a sentence attend to it, too.
  float GapScore(const Node& parent, const Node& node, size_t gap) const {
    const size_t next = node.source_begin;
    float before = 0, after = 0;
    if (next == parent.source_begin) {
      if (gap == parent.place.begin) before = 1;
    } else if (gap > parent.place.begin) {
      before = Weight(gap - 1, next - 1);
    }
    if (next >= parent.source_end) {
      if (gap == parent.place.end) after = 1;
    } else if (gap < parent.place.end && (!ClosesAfter(node) || !HasLetters(gap))) {
      after = Weight(gap, next);
    }
    float score = before + after;
    if (SpaceBefore(node) && !SpaceAfter(node)) score += after;
    if (SpaceAfter(node) && !SpaceBefore(node)) score += before;
    const double target_words = static_cast<double>(parent.place.end - parent.place.begin);
    const double distance =
        std::abs(static_cast<double>(gap - parent.place.begin) - ExpectedWords(parent, node.source_begin));
    return score - static_cast<float>(0.01 * distance / (1 + target_words));
  }

  // Whether the source has white space or nothing at all before a marker, or after it.
  bool SpaceBefore(const Node& node) const {
    const size_t at = unit_.source.places[node.open].at;
    return at == 0 || IsSpace(unit_.source.text[at - 1]);
  }
  bool SpaceAfter(const Node& node) const {
    const size_t at = EndOf(node);
    return at == unit_.source.text.size() || IsSpace(unit_.source.text[at]);
  }
  bool ClosesAfter(const Node& node) const { return !SpaceAfter(node) && IsClosing(unit_.source.text[EndOf(node)]); }
  size_t EndOf(const Node& node) const { return unit_.source.places[node.is_pair() ? node.close : node.open].at; }

  // Whether a target word has letters or digits, and is no mark of punctuation.
  bool HasLetters(size_t word) const {
    const ByteRange& range = alignment_.target[word];
    return HasLettersOrDigits(translation_.substr(range.begin, range.end - range.begin));
  }

  void PlaceSingles(const Node& parent, std::vector<Node*>& singles, const std::vector<Span>& free) {
    std::vector<size_t> gaps;  // where one may stand: everywhere but within a pair
    for (const Span& span : free) {
      for (size_t gap = span.begin; gap <= span.end; ++gap) {
        if (gaps.empty() || gaps.back() < gap) gaps.push_back(gap);
      }
    }
    std::sort(singles.begin(), singles.end(), [](const Node* a, const Node* b) { return a->open < b->open; });
    if (singles.size() * gaps.size() > kMostSingleWork) return PlaceByProportion(parent, singles, gaps);
    std::vector<Node*> ordered;
    for (Node* node : singles) {
      if (node->ordered) {
        ordered.push_back(node);
        continue;
      }
      size_t best = 0;
      float best_score = GapScore(parent, *node, gaps[0]);
      for (size_t g = 1; g < gaps.size(); ++g) {
        const float score = GapScore(parent, *node, gaps[g]);
        if (score > best_score) {
          best = g;
          best_score = score;
        }
      }
      node->place = {gaps[best], gaps[best]};
    }
    PlaceOrdered(parent, ordered, gaps);
  }

  static void PlaceByProportion(const Node& parent, const std::vector<Node*>& nodes, const std::vector<size_t>& gaps) {
    for (Node* node : nodes) {
      const size_t expected = parent.place.begin + static_cast<size_t>(ExpectedWords(parent, node->source_begin));
      const auto gap = std::lower_bound(gaps.begin(), gaps.end(), expected);
      const size_t at = gap == gaps.end() ? gaps.back() : *gap;
      node->place = {at, at};
    }
  }

  // The places that are best together, none before that of the marker before it.
  void PlaceOrdered(const Node& parent, const std::vector<Node*>& nodes, const std::vector<size_t>& gaps) {
    std::vector<float> best(gaps.size());  // of the markers so far, the last of them at a gap up to this
    std::vector<std::vector<uint32_t>> chosen(nodes.size());  // which gap that is
    for (size_t i = 0; i < nodes.size(); ++i) {
      chosen[i].resize(gaps.size());
      for (size_t g = 0; g < gaps.size(); ++g) {
        const float here = best[g] + GapScore(parent, *nodes[i], gaps[g]);
        const bool better = g == 0 || here > best[g - 1];
        best[g] = better ? here : best[g - 1];
        chosen[i][g] = better ? static_cast<uint32_t>(g) : chosen[i][g - 1];
      }
    }
    size_t last = gaps.size() - 1;
    for (size_t i = nodes.size(); i-- > 0;) {
      last = chosen[i][last];
      nodes[i]->place = {gaps[last], gaps[last]};
    }
  }

  // ---- Writing it.

  void CopyTo(size_t at) {
    if (at <= copied_) return;
    out_.text.append(translation_.substr(copied_, at - copied_));
    copied_ = at;
  }

  void Mark(int32_t marker) { out_.places.push_back({out_.text.size(), marker}); }

  size_t WordBegin(size_t word) const { return word < words_ ? alignment_.target[word].begin : translation_.size(); }
  size_t WordEnd(size_t word) const { return word > 0 ? alignment_.target[word - 1].end : 0; }

  void EmitChildren(const Node& parent) {
    std::vector<const Node*> nodes;
    for (const Node& child : parent.children) nodes.push_back(&child);
    std::stable_sort(nodes.begin(), nodes.end(), [](const Node* a, const Node* b) {
      if (a->place.begin != b->place.begin) return a->place.begin < b->place.begin;
      if (a->place.empty() != b->place.empty()) return a->place.empty();
      return a->open < b->open;
    });
    for (const Node* node : nodes) {
      if (node->place.empty()) {
        EmitBetween(*node, parent);
        continue;
      }
      CopyTo(WordBegin(node->place.begin));
      Mark(node->open);
      EmitChildren(*node);
      CopyTo(WordEnd(node->place.end));
      Mark(node->close);
    }
  }

  // One that stands between words, with the white space that the source has around it.
  void EmitBetween(const Node& node, const Node& parent) {
    const std::string& source = unit_.source.text;
    const auto& places = unit_.source.places;
    // places[i] is that of marker i.
    const size_t first = static_cast<size_t>(node.open),
                 last = node.is_pair() ? static_cast<size_t>(node.close) : first;
    const size_t at = places[first].at, end = places[last].at;
    const bool touches_before = first > 0 && places[first - 1].at == at;
    const bool touches_after = last + 1 < places.size() && places[last + 1].at == end;
    // A pair that has lost its words needs no space, unless it has a marker that stands for a word. One that never had
    // any is an icon.
    const bool holds_word =
        std::any_of(places.begin() + first, places.begin() + last,
                    [this](const MarkerPlace& place) { return unit_.markers[place.marker].is_word; });
    const bool shows = at == end || holds_word;
    const bool space_before = shows && at > 0 && IsSpace(source[at - 1]) && !touches_before;
    // A word before a mark of punctuation may get another place, with a word after it.
    const bool is_word = holds_word || unit_.markers[node.open].is_word;
    const bool parts = end < source.size() && (IsSpace(source[end]) || (is_word && IsClosing(source[end])));
    const bool space_after = shows && parts && !touches_after;
    const size_t gap = node.place.begin;
    const bool at_end = gap == parent.place.end && parent.is_pair();
    const size_t end_before = WordEnd(gap);
    const bool has_space = end_before < WordBegin(gap) && IsSpace(translation_[end_before]);
    CopyTo(space_before && has_space && !at_end ? end_before + 1 : end_before);
    const bool after_marker = out_.text.size() == shown_end_;
    const bool after_text = !out_.text.empty() && !IsSpace(out_.text.back());
    if (space_before && (after_marker || after_text)) AddSpace(at_end ? end_before : WordBegin(gap));
    Mark(node.open);
    if (node.is_pair()) {
      EmitChildren(node);
      Mark(node.close);
    }
    if (shows) shown_end_ = out_.text.size();
    const bool goes_on = copied_ < translation_.size() && !at_end;
    if (space_after && goes_on && !IsSpace(translation_[copied_]) && !IsClosing(translation_[copied_]))
      out_.text.push_back(' ');
  }

  // The translation's next byte if that is a space before byte `end`, or a space of our own.
  void AddSpace(size_t end) {
    if (copied_ < end && IsSpace(translation_[copied_])) {
      CopyTo(copied_ + 1);
    } else {
      out_.text.push_back(' ');
    }
  }

  static bool IsClosing(char c) { return IsOneOf(c, ".,;:!?)]}"); }

  const Unit& unit_;
  const std::string_view translation_;
  const Alignment& alignment_;
  const bool fills_pairs_;
  const size_t words_;
  std::vector<float> totals_;    // of each target word's weights
  std::vector<bool> secondary_;  // another target word has a stronger link to the source word of its strongest one
  MarkedText out_;
  size_t copied_ = 0;            // bytes of the translation that are in out_
  size_t shown_end_ = kNowhere;  // byte of out_ at which the last marker stands that shows something
};

}  // namespace

MarkedText ProjectMarkers(const Unit& unit, std::string_view translation, const Alignment& alignment,
                          bool fills_pairs) {
  const std::optional<Alignment> divided = WithDividedWords(unit, translation, alignment);
  return Projector(unit, translation, divided.has_value() ? *divided : alignment, fills_pairs).Run();
}

}  // namespace salient
