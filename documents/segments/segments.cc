#include "documents/segments/segments.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/segments/unit_cuts.h"
#include "documents/segments/unit_parts.h"
#include "engine/base/check.h"
#include "engine/text/document.h"

namespace salient {
namespace {

constexpr size_t kMostTermsBytes = size_t{64} << 20;  // of the terms at all places of a document
constexpr size_t kMostPlaced = 100;  // terms whose words in a translation are looked for; more are at its end

bool IsWordByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}

// Whether punctuation at `at` closes a clause: "." and "?!", but not the first byte of ".txt".
bool ClosesClause(std::string_view text, size_t at) {
  const size_t end = std::min(text.find_first_not_of(".,;:!?)]}", at), text.size());
  return end > at && (end == text.size() || !IsWordByte(text[end]));
}

// The text as a model shall see it, without the markers: where one stood between two words they stay two, where it had
// white space on both sides one of it is enough, and where it stood at an end or before closing punctuation there is
// no white space. An empty pair, such as an icon, is a marker that divides no word.
CutText WithoutMarkers(const std::vector<Marker>& markers, const std::vector<MarkerPlace>& places,
                       const CutText& segment) {
  CutText seen;
  auto place = places.begin();
  for (size_t at = 0; at < segment.text.size(); ++at) {
    bool divides = false, opens = false, marker = false;
    for (; place != places.end() && place->at <= at; ++place) {
      if (place->at < at) continue;
      const MarkerKind kind = markers[place->marker].kind;
      divides = divides || kind == MarkerKind::kStandalone;
      marker = divides || marker || (opens && kind == MarkerKind::kClose);
      opens = kind == MarkerKind::kOpen;
    }
    const char c = segment.text[at];
    const bool between_words = divides && !seen.text.empty() && IsWordByte(seen.text.back()) && IsWordByte(c);
    if (between_words) seen.Add(' ', segment.origin[at]);
    if (marker && c == ' ' && (seen.text.empty() || seen.text.back() == ' ')) continue;
    if (marker && seen.text.ends_with(' ') && ClosesClause(segment.text, at)) seen.RemoveLast();
    seen.Add(c, segment.origin[at]);
  }
  const ByteRange inner = WithoutOuterSpace(seen.text);
  return {seen.text.substr(inner.begin, inner.end - inner.begin),
          {seen.origin.begin() + inner.begin, seen.origin.begin() + inner.end}};
}

// The words of a translation that were made of a term, without marks at their ends that the term and its target do not
// have: the hyphen of "Linux-Server" is aligned with "server". Where nothing else was made of it the place after them.
ByteRange WithoutMarks(const std::string& source, const std::string& target, std::string_view translation,
                       ByteRange said) {
  const ByteRange of_source = LettersAndDigits(source), of_target = LettersAndDigits(target);
  const ByteRange inner = LettersAndDigits(translation.substr(said.begin, said.end - said.begin));
  const size_t begin = said.begin;
  if (of_source.begin == 0 && of_target.begin == 0) said.begin = begin + inner.begin;
  if (of_source.end == source.size() && of_target.end == target.size()) said.end = begin + inner.end;
  return said;
}

absl::Status TooManySegments() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the document has more than ", kMaxSegments, " segments; split the document"));
}

}  // namespace

absl::StatusOr<UnitSegments> UnitSegments::Create(const std::vector<Unit>& units, const SegmentOptions& options) {
  if (units.size() > kMaxSegments) return TooManySegments();  // each has a letter, and so a segment
  UnitSegments segments;
  segments.units_ = units;
  for (size_t u = 0; u < units.size(); ++u) {
    bool starts_paragraph = units[u].starts_paragraph;
    for (const UnitPart& part : PartsOf(units[u])) {
      const size_t segments_before = segments.texts_.size();
      if (absl::Status status = segments.AddPart(u, part, starts_paragraph, options); !status.ok()) return status;
      if (segments.texts_.size() > kMaxSegments) return TooManySegments();
      starts_paragraph = segments.texts_.size() == segments_before;  // as after an empty line
    }
  }
  return segments;
}

absl::Status UnitSegments::AddPart(size_t unit, const UnitPart& part, bool starts_paragraph,
                                   const SegmentOptions& options) {
  const std::vector<Marker>& markers = units_[unit].markers;
  const std::vector<MarkerPlace>& places = units_[unit].source.places;
  const absl::StatusOr<std::vector<UnitCut>> cuts =
      CutPart(units_[unit], part, options.segmentation, options.source_language);
  if (!cuts.ok()) return cuts.status();
  size_t marker = part.first_place;
  for (size_t c = 0; c < cuts->size(); ++c) {
    const UnitCut& cut = (*cuts)[c];
    const size_t end = cut.range.end;
    Place place{unit, cut.range};
    CutText text = cut.cut;
    text.origin.push_back(end);
    // A marker between two segments without anything between them opens the one or belongs to the other.
    const UnitCut* next = c + 1 < cuts->size() ? &(*cuts)[c + 1] : nullptr;
    const bool touches = next != nullptr && next->range.begin == end;
    const size_t markers_end = next != nullptr ? next->opening_place.value_or(part.end_place) : part.end_place;
    while (marker < part.end_place && places[marker].at < cut.range.begin) ++marker;
    place.first_marker = marker;
    MarkedText marked{text.text};
    for (; marker < markers_end && places[marker].at <= end; ++marker) {
      const MarkerPlace& in_unit = places[marker];
      if (in_unit.at == end && touches && markers[in_unit.marker].kind == MarkerKind::kOpen) break;
      const auto byte = std::lower_bound(text.origin.begin(), text.origin.end(), in_unit.at);
      marked.places.push_back({static_cast<size_t>(byte - text.origin.begin()), in_unit.marker});
    }
    place.end_marker = marker;
    place.starts_paragraph = c == 0 ? starts_paragraph : cut.starts_paragraph;
    const absl::StatusOr<std::vector<ByteRange>> found = FindTerms(options.glossary, marked, text.origin, &place);
    if (!found.ok()) return found.status();
    const std::vector<ByteRange>& terms = *found;
    SpelledSegment spelled;
    if (options.markers > 0 && !(marked.places.empty() && terms.empty()) &&
        SpellMarkers(markers, marked, terms, options.markers, &spelled)) {
      text.text = spelled.text;
      size_t number = 0;
      for (FoundTerm& term : place.terms) {
        if (!term.blocked) term.number = spelled.term_numbers[number++];
      }
      place.spelled = std::move(spelled);
    } else if (!marked.places.empty()) {
      text = WithoutMarkers(markers, marked.places, text);
      text.origin.push_back(end);
    }
    texts_.push_back(std::move(text.text));
    place.origin = BytePlaces(text.origin);
    places_.push_back(std::move(place));
  }
  return absl::OkStatus();
}

// Fills in the terms of `place`; returns the parts of `marked` that are such, but for those with a marker within them.
absl::StatusOr<std::vector<ByteRange>> UnitSegments::FindTerms(const Glossary* glossary, const MarkedText& marked,
                                                               const std::vector<size_t>& origin, Place* place) {
  std::vector<ByteRange> terms;
  if (glossary == nullptr) return terms;
  for (const TermMatch& match : glossary->Find(marked.text)) {
    const Term& term = glossary->term(match.term);
    const size_t source_size = match.range.end - match.range.begin;
    terms_bytes_ += sizeof(FoundTerm) + source_size + term.target.size();
    if (terms_bytes_ > kMostTermsBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the terms of the glossary stand in so many places that they take more than ", kMostTermsBytes,
                       " bytes; leave out the most frequent ones, or split the document"));
    }
    const auto [known, is_new] = term_index_.emplace(match.term, terms_.size());
    if (is_new) terms_.push_back(term);
    const auto after = std::upper_bound(marked.places.begin(), marked.places.end(), match.range.begin,
                                        [](size_t at, const MarkerPlace& marker) { return at < marker.at; });
    const bool blocked = after != marked.places.end() && after->at < match.range.end;
    if (!blocked) terms.push_back(match.range);
    place->terms.push_back({known->second,
                            match.capital,
                            marked.text.substr(match.range.begin, source_size),
                            {origin[match.range.begin], origin[match.range.end - 1] + 1},
                            blocked});
  }
  return terms;
}

std::string UnitSegments::lines(const std::vector<bool>& left_out) const {
  std::string lines;
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (!left_out.empty() && left_out[i]) continue;
    if (places_[i].starts_paragraph && !lines.empty()) lines.push_back('\n');
    lines.append(texts_[i]).push_back('\n');
  }
  return lines;
}

// Left to right. The segment does not spell its terms.
std::vector<UnitSegments::LackedTerm> UnitSegments::LackedTerms(size_t segment, std::string_view translation,
                                                                const std::vector<TokenLink>& links) const {
  const Place& place = places_[segment];
  // A unit of the text as the engine has seen it, with a pair around each term.
  Unit unit;
  unit.source.text = texts_[segment];
  std::vector<size_t> of_pair;  // which term it is
  std::vector<LackedTerm> lacked, last;
  TargetFinder said(translation);
  for (size_t t = 0; t < place.terms.size(); ++t) {
    const FoundTerm& found = place.terms[t];
    if (said.Take(TargetOf(found))) continue;
    if (of_pair.size() == kMostPlaced) {
      last.push_back({t, {translation.size(), translation.size()}});
      continue;
    }
    const auto id = static_cast<int32_t>(of_pair.size());
    unit.source.places.push_back({place.origin.FirstNotBefore(found.range.begin), 2 * id});
    unit.source.places.push_back({place.origin.FirstNotBefore(found.range.end), 2 * id + 1});
    unit.markers.push_back({MarkerKind::kOpen, id});
    unit.markers.push_back({MarkerKind::kClose, id});
    of_pair.push_back(t);
  }
  if (of_pair.empty()) return {};
  const Alignment alignment =
      links.empty() ? AlignByPlace(texts_[segment], translation) : AlignByLinks(texts_[segment], translation, links);
  const MarkedText projected = ProjectMarkers(unit, translation, alignment, /*fills_pairs=*/false);
  SALIENT_DCHECK(projected.text == translation);                 // so few pairs need no white space
  for (size_t p = 0; p + 1 < projected.places.size(); p += 2) {  // pairs stand side by side
    const size_t t = of_pair[projected.places[p].marker / 2];
    const ByteRange words{projected.places[p].at, projected.places[p + 1].at};
    lacked.push_back({t, WithoutMarks(place.terms[t].source, TargetOf(place.terms[t]), translation, words)});
  }
  lacked.insert(lacked.end(), last.begin(), last.end());
  return lacked;
}

std::optional<std::string> UnitSegments::BeginningWithTerm(size_t segment, std::string_view translation,
                                                           const std::vector<TokenLink>& links, size_t kept) const {
  const Place& place = places_[segment];
  if (place.spelled.has_value() || place.terms.empty()) return std::nullopt;
  const std::vector<LackedTerm> lacked = LackedTerms(segment, translation, links);
  if (lacked.empty()) return std::nullopt;
  const LackedTerm& first = lacked.front();
  size_t at = first.said.begin;
  bool between = first.said.begin == first.said.end;
  if (at < kept) {  // behind what is kept, and the word that it is in
    at = std::min(kept, translation.size());
    between = true;
    for (const ByteRange& word : WordsOf(translation)) {
      if (word.begin < at && at < word.end) at = word.end;
    }
  }
  std::string beginning(translation.substr(0, at));
  if (between && !beginning.empty() && !IsSpace(beginning.back()) && !IsOneOf(beginning.back(), "-/([{")) {
    beginning.push_back(' ');
  }
  return beginning.append(TargetOf(place.terms[first.term]));
}

std::string UnitSegments::WithTerms(size_t segment, std::string_view translation, std::vector<TokenLink>* links,
                                    std::vector<TermUse>* uses) const {
  const Place& place = places_[segment];
  std::string made(translation);
  const size_t first_use = uses->size();
  for (const FoundTerm& found : place.terms) {
    const Term& term = terms_[found.term];
    const std::string target = TargetOf(found);
    uses->push_back({found.source, target, !place.spelled.has_value()});
    if (found.number < 0) continue;
    uses->back().used = ReplaceSpelled(
        found.number, [&](std::string_view said) { return std::string(FormOf(term, target, said)); }, &made);
  }
  if (place.spelled.has_value() || place.terms.empty()) return made;

  made.clear();
  size_t done = 0;
  std::vector<std::pair<size_t, size_t>> moved = {{0, 0}};  // bytes of the translation, and where they are now
  for (const LackedTerm& lacked : LackedTerms(segment, translation, *links)) {
    const auto [begin, end] = lacked.said;
    const FoundTerm& found = place.terms[lacked.term];
    const std::string_view here = translation.substr(begin, end - begin);
    if (here.empty()) {  // nothing was made of the term
      (*uses)[first_use + lacked.term].used = false;
      continue;
    }
    made.append(translation, done, begin - done);
    moved.emplace_back(begin, made.size());
    const std::string target = TargetOf(found);
    made.append(HasFormOf(here, target) ? here : FormOf(terms_[found.term], target, here));
    moved.emplace_back(end, made.size());
    done = end;
  }
  made.append(translation, done);
  const auto now = [&moved](int32_t byte) {
    const std::pair before_next(static_cast<size_t>(byte), SIZE_MAX);
    const auto after = std::upper_bound(moved.begin(), moved.end(), before_next);
    const auto& [was, is] = *(after - 1);
    const size_t most = after == moved.end() ? SIZE_MAX : after->second;
    return static_cast<int32_t>(std::min(is + static_cast<size_t>(byte) - was, most));
  };
  for (TokenLink& link : *links) {
    link.target_begin = now(link.target_begin);
    link.target_end = std::max(now(link.target_end), link.target_begin);
  }
  return made;
}

size_t UnitSegments::Place::bytes() const {
  size_t bytes = sizeof(*this) + origin.memory();
  for (const FoundTerm& found : terms) bytes += sizeof(found) + found.source.size();
  if (spelled.has_value()) bytes += spelled->bytes();
  return bytes;
}

size_t UnitSegments::bytes() const {
  size_t bytes = MemoryOf(units_);
  for (const std::string& text : texts_) bytes += sizeof(std::string) + text.size();
  for (const Place& place : places_) bytes += place.bytes();
  for (const Term& term : terms_) bytes += sizeof(term) + term.source.size() + term.target.size();
  return bytes;
}

std::string_view UnitSegments::TextOf(size_t segment) const {
  const Place& place = places_[segment];
  return std::string_view(units_[place.unit].source.text)
      .substr(place.range.begin, place.range.end - place.range.begin);
}

bool UnitSegments::LacksSpaceBefore(size_t segment, const std::vector<std::string>& translations) const {
  if (segment == 0) return false;
  const Place &before = places_[segment - 1], &place = places_[segment];
  const bool touches = before.unit == place.unit && before.range.end == place.range.begin &&
                       before.end_marker == place.first_marker;  // no line break stands between them
  if (!touches || WithoutOuterSpace(TextOf(segment)).begin > 0) return false;
  const std::string said = WithoutSpelled(translations[segment - 1]);
  return !said.empty() && !translations[segment].empty() && EndsWide(TextOf(segment - 1)) && !EndsWide(said);
}

Alignment UnitSegments::AlignmentOf(size_t segment, std::string_view translation,
                                    const std::vector<TokenLink>& links) const {
  const Place& place = places_[segment];
  if (place.spelled.has_value()) return {};
  std::vector<TokenLink> in_unit = links;
  const auto moved = [&place](int32_t byte) {
    const size_t at = std::min<size_t>(byte, place.origin.size() - 1);
    return static_cast<int32_t>(place.origin[at] - place.range.begin);
  };
  for (TokenLink& link : in_unit) {
    link.source_begin = moved(link.source_begin);
    link.source_end = std::max(moved(link.source_end), link.source_begin);
  }
  return AlignByLinks(TextOf(segment), translation, in_unit);
}

std::vector<MarkedText> UnitSegments::Join(const std::vector<std::string>& translations,
                                           const std::vector<Alignment>& alignments) const {
  std::vector<MarkedText> joined;
  size_t segment = 0;
  for (size_t u = 0; u < units_.size(); ++u) {
    const size_t first = segment;
    while (segment < places_.size() && places_[segment].unit == u) ++segment;
    std::optional<MarkedText> spelled = JoinSpelled(u, first, segment, translations);
    joined.push_back(spelled.has_value() ? *std::move(spelled) : JoinUnit(u, first, segment, translations, alignments));
  }
  return joined;
}

// The unit where each segment tells by itself where its markers are; none where one does not, or where they break.
std::optional<MarkedText> UnitSegments::JoinSpelled(size_t unit, size_t first, size_t end,
                                                    const std::vector<std::string>& translations) const {
  const MarkedText& source = units_[unit].source;
  MarkedText joined;
  size_t done = 0, marker = 0;
  const auto copy = [&](size_t to, size_t markers_to) {
    for (; marker < markers_to; ++marker) {
      joined.places.push_back({joined.text.size() + source.places[marker].at - done, source.places[marker].marker});
    }
    joined.text.append(source.text, done, to - done);
    done = to;
  };
  for (size_t i = first; i < end; ++i) {
    const Place& place = places_[i];
    copy(place.range.begin, place.first_marker);
    if (LacksSpaceBefore(i, translations)) joined.text.push_back(' ');
    if (translations[i] == texts_[i]) {
      copy(place.range.end, place.end_marker);
      continue;
    }
    if (!place.spelled.has_value() && place.first_marker != place.end_marker) return std::nullopt;
    const size_t at = joined.text.size();
    MarkedText read{translations[i]};
    if (place.spelled.has_value()) read = ReadSpelled(units_[unit].markers, *place.spelled, translations[i]);
    for (const MarkerPlace& in_read : read.places) joined.places.push_back({at + in_read.at, in_read.marker});
    joined.text.append(read.text);
    done = place.range.end;
    marker = place.end_marker;
  }
  copy(source.text.size(), source.places.size());
  if (!CheckMarkers(units_[unit].markers, joined).ok()) return std::nullopt;
  return joined;
}

MarkedText UnitSegments::JoinUnit(size_t unit, size_t first, size_t end, const std::vector<std::string>& translations,
                                  const std::vector<Alignment>& alignments) const {
  const Unit& source = units_[unit];
  MarkedText joined;
  size_t segment = first;
  for (const UnitPart& part : PartsOf(source)) {
    const size_t first_of_part = segment;
    while (segment < end && places_[segment].range.begin < part.range.end) ++segment;
    const MarkedText translated = JoinPart(source, part, first_of_part, segment, translations, alignments);
    const size_t at = joined.text.size();
    for (const MarkerPlace& place : translated.places) joined.places.push_back({at + place.at, place.marker});
    joined.text.append(translated.text);
    if (part.end_place < source.source.places.size()) {
      joined.places.push_back({joined.text.size(), source.source.places[part.end_place].marker});
    }
  }
  SALIENT_DCHECK(CheckMarkers(source.markers, joined).ok());
  return joined;
}

MarkedText UnitSegments::JoinPart(const Unit& unit, const UnitPart& part, size_t first, size_t end,
                                  const std::vector<std::string>& translations,
                                  const std::vector<Alignment>& alignments) const {
  const std::string& text = unit.source.text;
  std::string translated;
  Alignment alignment;
  size_t done = part.range.begin;
  const auto copy = [&](size_t to) {  // what stands between segments is aligned with itself
    const std::string_view glue = std::string_view(text).substr(done, to - done);
    AppendAlignment(AlignWithItself(glue), done - part.range.begin, translated.size(), &alignment);
    translated.append(glue);
    done = to;
  };
  for (size_t i = first; i < end; ++i) {
    const ByteRange range = places_[i].range, inner = WithoutOuterSpace(TextOf(i));
    copy(range.begin + inner.begin);
    if (LacksSpaceBefore(i, translations)) translated.push_back(' ');
    if (translations[i] == texts_[i]) {
      copy(range.end);
      continue;
    }
    const std::string translation = places_[i].spelled.has_value() ? WithoutSpelled(translations[i]) : translations[i];
    const bool given = i < alignments.size() && !alignments[i].target.empty();
    AppendAlignment(given ? alignments[i] : AlignByPlace(TextOf(i), translation), range.begin - part.range.begin,
                    translated.size(), &alignment);
    translated.append(translation);
    done = range.begin + inner.end;
  }
  copy(part.range.end);
  return ProjectPart(unit, part, translated, alignment);
}

}  // namespace salient
