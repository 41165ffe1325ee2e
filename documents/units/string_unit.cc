#include "documents/units/string_unit.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "documents/ascii.h"
#include "documents/syntax/character_references.h"
#include "documents/units/unit_builder.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr char kPlaceholder = '\0';  // stands for a placeholder in the text of a string

bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }
bool IsLower(char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); }

bool HasSpaceOrNonAscii(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isspace(byte) || byte >= 0x80;
  });
}

// Knows which tags have a partner. One without may be code: "List<String>".
class TagPairs {
 public:
  explicit TagPairs(const std::vector<InlineSpan>& spans) {
    for (const InlineSpan& span : spans) {
      if (span.kind == MarkerKind::kOpen) first_open_.emplace(span.name, span.begin);
      if (span.kind == MarkerKind::kClose) last_close_[span.name] = span.begin;
    }
  }

  bool HasPartner(const InlineSpan& tag) const {
    if (tag.kind == MarkerKind::kStandalone) return true;
    const bool opens = tag.kind == MarkerKind::kOpen;
    const auto partner = opens ? last_close_.find(tag.name) : first_open_.find(tag.name);
    if (partner == (opens ? last_close_.end() : first_open_.end())) return false;
    return opens ? partner->second > tag.begin : partner->second < tag.begin;
  }

 private:
  std::map<std::string_view, size_t> first_open_, last_close_;  // places, by name
};

// The string without its tags, and with a character for each placeholder.
std::string TextWithoutSpans(std::string_view value) {
  std::string text;
  size_t done = 0;
  const std::vector<InlineSpan> spans = FindInlineSpans(value, {.keep_terms = {}, .tags = true});
  const TagPairs pairs(spans);
  for (const InlineSpan& span : spans) {
    if (span.is_tag && !pairs.HasPartner(span)) continue;
    text.append(value, done, span.begin - done).append(span.is_tag ? 0 : 1, kPlaceholder);
    done = span.end;
  }
  return text.append(value, done);
}

// "Required" of "[Required]", but nothing of "[0-9]".
std::string_view WithoutBrackets(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return text;
  const std::string_view inside = text.substr(1, text.size() - 2);
  const bool is_word =
      std::all_of(inside.begin(), inside.end(), [](char c) { return IsLetter(c) || IsOneOf(c, ".!?"); });
  return is_word ? inside : text;
}

// "en-US".
bool IsLocale(std::string_view text) {
  const size_t hyphen = text.find('-');
  if ((hyphen != 2 && hyphen != 3) || text.size() != hyphen + 3) return false;
  return std::all_of(text.begin(), text.begin() + hyphen, IsLower) && IsUpper(text[hyphen + 1]) &&
         IsUpper(text[hyphen + 2]);
}

// "Username/Password". Not in this form are paths, types and time zones: "src/main", "text/html", "Europe/Berlin".
bool AreTwoWords(std::string_view text) {
  constexpr std::string_view kRegions[] = {"Africa",    "America", "Antarctica", "Arctic", "Asia",   "Atlantic",
                                           "Australia", "Etc",     "Europe",     "Indian", "Pacific"};
  while (!text.empty() && IsOneOf(text.back(), ".:,;!?*")) text.remove_suffix(1);
  const std::string_view first = text.substr(0, text.find('/'));
  if (first.size() < 2 || text.size() < first.size() + 3) return false;
  const std::string_view second = text.substr(first.size() + 1);
  return IsUpper(first[0]) && std::all_of(first.begin(), first.end(), IsLetter) &&
         std::all_of(second.begin(), second.end(), IsLetter) &&
         std::find(std::begin(kRegions), std::end(kRegions), first) == std::end(kRegions);
}

// Whether there is a character that words do not have.
bool HasCodeCharacter(std::string_view text) {
  if (text.find_first_of("_\\=@#<>{}[]|$") != std::string_view::npos) return true;
  return text.find('/') != std::string_view::npos && !AreTwoWords(text);
}

// Whether two parts are joined as words are not: "app.title", "a::b", "user-{id}", "camelCase", ".name". A placeholder
// is such a part unless the text begins with a capital: "Name:{name}".
bool HasCodeJoint(std::string_view text) {
  const auto first_letter = std::find_if(text.begin(), text.end(), IsLetter);
  const bool is_capital = first_letter != text.end() && IsUpper(*first_letter);
  const auto is_part = [is_capital](char c) { return IsLetter(c) || IsDigit(c) || (c == kPlaceholder && !is_capital); };
  if (text.size() > 1 && text[0] == '.' && is_part(text[1])) return true;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    const char before = text[i - 1], c = text[i], after = text[i + 1];
    if (c == ':' && after == ':') return true;
    const bool at_placeholder = before == kPlaceholder || after == kPlaceholder;
    if ((IsOneOf(c, ".:") || (c == '-' && at_placeholder)) && is_part(before) && is_part(after)) return true;
    if (IsUpper(c) && IsLower(before)) return true;
  }
  return false;
}

// How a string spells characters as HTML references. Its translation spells them in the same way.
class References {
 public:
  // Adds the string to a builder of its unit, with the references decoded.
  void AddTo(std::string_view value, UnitBuilder* builder) {
    size_t done = 0;
    for (size_t at = value.find('&'); at != std::string_view::npos; at = value.find('&', at + 1)) {
      const CharacterReference reference = ReadCharacterReference(value, at);
      if (reference.length == 0 || !IsDecoded(reference.text)) continue;
      const ByteRange range{at, at + reference.length};
      builder->AddText({done, at});
      builder->AddDecoded(range, reference.text);
      spelled_.emplace(reference.text, value.substr(at, reference.length));
      done = range.end;
    }
    builder->AddText({done, value.size()});
  }

  bool empty() const { return spelled_.empty(); }

  std::string Write(const std::vector<Marker>& markers, MarkedText text) const {
    std::string spelled;
    auto place = text.places.begin();
    for (size_t at = 0; at <= text.text.size();) {
      for (; place != text.places.end() && place->at == at; ++place) place->at = spelled.size();
      if (at == text.text.size()) break;
      size_t end = at + 1;
      while (end < text.text.size() && ContinuesCharacter(text.text[end])) ++end;
      const std::string character = text.text.substr(at, end - at);
      const auto found = spelled_.find(character);
      spelled.append(found == spelled_.end() ? character : found->second);
      at = end;
    }
    text.text = std::move(spelled);
    return Flatten(markers, text);
  }

 private:
  // Of ASCII only what HTML cannot write otherwise: every space would be spelled as one "&#32;" is.
  static bool IsDecoded(std::string_view character) {
    return static_cast<unsigned char>(character[0]) >= 0x80 || IsOneOf(character[0], "&<>\"'");
  }

  std::map<std::string, std::string> spelled_;  // by character
};

}  // namespace

bool MakeStringUnit(std::string_view value, ByteRange place, const KeptTerms& keep_terms,
                    std::function<std::string(const std::string&)> encode, PlacedUnit* unit,
                    const std::string& source_language) {
  if (FirstInvalidText(value).has_value()) return false;  // an escaped NUL
  UnitRules rules{.collapse_space = false, .leave_out_ends = false};
  rules.inline_rules = {.keep_terms = keep_terms, .tags = true, .source_language = source_language};
  UnitBuilder builder(value, rules);
  References references;
  references.AddTo(value, &builder);
  if (!builder.Finish(unit)) return false;
  for (size_t i = 0; i < unit->markers.size(); ++i) {
    const ByteRange range = unit->markers[i];
    if (range.begin < range.end) unit->unit.markers[i].bytes = value.substr(range.begin, range.end - range.begin);
  }
  unit->place = place;
  unit->markers.assign(unit->markers.size(), {place.begin, place.begin});  // they are written from their values
  unit->write = [encode = std::move(encode), references = std::move(references)](
                    const Unit& source, const MarkedText& translation, const std::vector<std::string>&) {
    return encode(references.empty() ? Flatten(source.markers, translation)
                                     : references.Write(source.markers, translation));
  };
  return true;
}

bool LooksLikeCode(std::string_view value) {
  const std::string own_text = TextWithoutSpans(value);
  const std::string_view text = WithoutBrackets(own_text);
  if (HasSpaceOrNonAscii(text)) return false;
  return IsLocale(text) || HasCodeCharacter(text) || HasCodeJoint(text) ||
         (std::any_of(text.begin(), text.end(), IsDigit) && std::any_of(text.begin(), text.end(), IsLetter));
}

}  // namespace salient
