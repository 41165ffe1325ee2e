// HTML5: a unit is a run of text and inline tags between block tags. Elements that HTML does not know are inline where
// text is beside them, but not where a word of theirs touches one outside of them.
//
// Not translated: scripts, styles, SVG, `pre`, elements with translate="no", the class notranslate or the `lang` of
// another language, and the elements of options.elements.keep. `code`, `kbd`, `samp`, `var` and formulas become
// markers, which count as a word of their sentence. Translated besides text: the attributes alt, title, placeholder,
// aria-label, label, summary and similar, the description in the head, the labels of buttons, the content of templates,
// and what audio, video, canvas and object show in place of themselves.

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/language.h"
#include "documents/syntax/html_elements.h"
#include "documents/syntax/html_tokens.h"
#include "documents/syntax/xml_events.h"
#include "documents/units/html_attributes.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using TokenKind = HtmlToken::Kind;

bool IsVoid(std::string_view name) {
  return IsOneOf(name, {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track",
                        "wbr", "param"});
}

bool IsInline(std::string_view name) {
  return IsOneOf(name,
                 {"a",    "abbr",  "acronym", "audio",  "b",      "bdi",      "bdo",     "big", "br",   "cite",  "code",
                  "data", "del",   "dfn",     "em",     "font",   "i",        "img",     "ins", "kbd",  "label", "map",
                  "mark", "math",  "meter",   "nobr",   "output", "picture",  "q",       "rp",  "rt",   "ruby",  "s",
                  "samp", "small", "span",    "strike", "strong", "sub",      "sup",     "svg", "time", "tt",    "u",
                  "var",  "wbr",   "input",   "script", "style",  "template", "noscript"});
}

// What begins after an element whose end tag is left out. Others, such as `body`, last to the end of their parent.
bool EndsBefore(std::string_view element, const HtmlToken& start) {
  if (element == "li") return start.name == "li";
  if (element == "p") return !IsInline(start.name);
  if (IsOneOf(element, {"dt", "dd"})) return IsOneOf(start.name, {"dt", "dd"});
  if (IsOneOf(element, {"option", "optgroup"})) return IsOneOf(start.name, {"option", "optgroup"});
  const bool starts_row = IsOneOf(start.name, {"tr", "tbody", "thead", "tfoot"});
  if (IsOneOf(element, {"td", "th"})) return starts_row || IsOneOf(start.name, {"td", "th"});
  if (element == "tr") return starts_row;
  return IsOneOf(element, {"tbody", "thead", "tfoot"}) && starts_row && start.name != "tr";
}

// Elements that HTML does not know, such as <x-icon> or <st1:place>.
bool IsUnknown(std::string_view name) { return name.find_first_of("-:") != std::string::npos; }

// The first or the last character of a text; 0: there is none.
UChar32 OuterCharacter(std::string_view text, bool first) {
  UChar32 c = 0;
  if (text.empty()) return c;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  auto at = first ? 0 : static_cast<int32_t>(text.size());
  if (first) {
    U8_NEXT(bytes, at, static_cast<int32_t>(text.size()), c);
  } else {
    U8_PREV(bytes, 0, at, c);
  }
  return c;
}

// Whether a tag between two characters stands between two texts, such as "file" and "Old" of `file<x-note>Old`. The
// "s" of `<x-term>engine</x-term>s` goes on with the word. Scripts without case may have no spaces between words.
bool PartsTexts(UChar32 before, UChar32 after, bool is_end_tag) {
  const auto is_of_word = [](UChar32 c) { return u_isdigit(c) || u_hasBinaryProperty(c, UCHAR_CASED); };
  if (!is_of_word(after)) return false;
  if (is_of_word(before)) return !is_end_tag || !u_islower(after);
  return before == '.' || before == '!' || before == '?' || before == ':';
}

class HtmlReader {
 public:
  HtmlReader(std::string_view bytes, const ParseOptions& options)
      : bytes_(bytes),
        options_(options),
        most_tokens_(static_cast<size_t>(options.limits.max_events)),
        tokens_(TokenizeHtml(bytes, most_tokens_ + 1)),
        ends_(MatchEnds()),
        in_text_(FindElementsInText()),
        rules_{.inline_rules = {options.keep_terms, /*tags=*/false}, .copies_markers = true},
        builder_(bytes, rules_) {}

  ParsedDocument Read() {
    if (tokens_.size() > most_tokens_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("HTML: has more than ", most_tokens_, " tags, texts and comments; split the document"));
    }
    // XHTML may begin with a declaration, whose token ends at the first ">".
    if (!options_.target_language.empty()) edits_ = EncodingEdits(bytes_.substr(0, bytes_.find('>') + 1));
    for (size_t i = 0; i < tokens_.size() && !HasTooManyUnits(units_.size(), options_.limits); ++i) {
      i = Take(i);
      if (builder_.marker_count() > static_cast<size_t>(options_.limits.max_markers)) Flush();
    }
    Flush();
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  // For each start tag: the index of its end tag, or 0.
  std::vector<size_t> MatchEnds() const {
    std::vector<size_t> ends(tokens_.size());
    TagPairing pairing;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const HtmlToken& token = tokens_[i];
      if (token.kind == TokenKind::kStart && !IsVoid(token.name) && !token.is_empty) pairing.Start(token.name, i);
      if (token.kind != TokenKind::kEnd) continue;
      if (const std::optional<size_t> start = pairing.End(token.name); start.has_value()) ends[*start] = i;
    }
    return ends;
  }

  // The character next to token i, if `next` is the one on the token's other side. 0: that of another block, or none.
  UChar32 CharacterBeside(size_t i, UChar32 next, bool first) const {
    const HtmlToken& token = tokens_[i];
    if (token.kind == TokenKind::kOther || token.raw) return next;
    if (token.kind == TokenKind::kText) return OuterCharacter(Bytes(token.range), first);
    return token.name != "br" && (IsInline(token.name) || IsUnknown(token.name)) ? next : 0;
  }

  // For each tag, whether it stands between two texts, see PartsTexts.
  std::vector<bool> FindTagsBetweenTexts() const {
    std::vector<UChar32> before(tokens_.size() + 1);
    for (size_t i = 0; i < tokens_.size(); ++i) before[i + 1] = CharacterBeside(i, before[i], /*first=*/false);
    std::vector<bool> parts(tokens_.size());
    UChar32 after = 0;
    for (size_t i = tokens_.size(); i-- > 0;) {
      parts[i] = PartsTexts(before[i], after, tokens_[i].kind == TokenKind::kEnd);
      after = CharacterBeside(i, after, /*first=*/true);
    }
    return parts;
  }

  // For each tag of an unknown element, whether it is part of a sentence: text is beside it, or beside the unknown
  // element in which it begins, and its tags do not stand between two texts.
  std::vector<bool> FindElementsInText() const {
    std::vector<bool> in_text(tokens_.size());
    const std::vector<bool> parts = FindTagsBetweenTexts();
    const auto is_text = [this](size_t i) {
      return i < tokens_.size() && tokens_[i].kind == TokenKind::kText && !tokens_[i].raw &&
             !IsBlank(Bytes(tokens_[i].range));
    };
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::kStart || !IsUnknown(tokens_[i].name)) continue;
      const size_t end = std::max(i, ends_[i]);
      if (parts[i] || parts[end]) continue;
      in_text[i] = is_text(end + 1) || (i > 0 && (is_text(i - 1) || in_text[i - 1]));
      in_text[end] = in_text[i];
    }
    return in_text;
  }

  // What browsers show instead of sound, and what a template holds, is text of its own. An empty element may be part of
  // a sentence.
  bool IsInlineTag(size_t i) const {
    if (IsOneOf(tokens_[i].name, {"audio", "template"})) return ends_[i] == i + 1;
    return in_text_[i] || IsInline(tokens_[i].name);
  }

  // The last token of block i, whose end tag is left out: before a sibling, or before the end of its parent.
  size_t LastOf(size_t i) const {
    size_t last = i;
    for (size_t next = i + 1; next < tokens_.size(); last = next, ++next) {
      const HtmlToken& token = tokens_[next];
      if (token.kind == TokenKind::kEnd && !IsInline(token.name)) break;
      if (token.kind != TokenKind::kStart) continue;
      if (EndsBefore(tokens_[i].name, token)) break;
      next = std::max(next, ends_[next]);
    }
    return last;
  }

  // Reads token i and what belongs to it; returns the index of the last token that was read.
  size_t Take(size_t i) {
    const HtmlToken& token = tokens_[i];
    switch (token.kind) {
      case TokenKind::kText:
        if (token.raw) {
          builder_.Standalone(token.range, /*ordered=*/false, /*is_word=*/false);
        } else {
          builder_.AddTextWithReferences({i == 0 ? ByteOrderMark(bytes_) : token.range.begin, token.range.end},
                                         /*in_attribute=*/false);
        }
        return i;
      case TokenKind::kOther:
        builder_.Standalone(token.range, /*ordered=*/false, /*is_word=*/false);
        return i;
      case TokenKind::kEnd:
        if (IsInlineTag(i)) {
          builder_.Close(token.range, token.name);
        } else {
          Flush();
        }
        return i;
      case TokenKind::kStart:
        return TakeStart(i);
    }
    return i;
  }

  size_t TakeStart(size_t i) {
    const HtmlToken& token = tokens_[i];
    const bool kept_by_name = IsKeptByName(token), kept = kept_by_name || IsKept(token);
    const bool is_inline = kept_by_name || IsInlineTag(i);
    if (!is_inline) Flush();
    if (!kept) TakeAttributes(token);
    const bool is_empty = is_inline && ends_[i] == i + 1 && IsOneOf(token.name, {"audio", "template"});
    if ((kept || is_empty || IsOpaqueElement(token.name)) && ends_[i] > 0) {
      const ByteRange whole{token.range.begin, tokens_[ends_[i]].range.end};
      const bool is_word = IsWordElement(token.name) || (kept && is_inline);
      if (is_inline) builder_.Standalone(whole, /*ordered=*/false, is_word);
      return ends_[i];
    }
    if (kept && !is_inline && !IsVoid(token.name) && !token.is_empty) return LastOf(i);
    if (token.name == "br") {
      builder_.Standalone(token.range, /*ordered=*/true, /*is_word=*/false, /*breaks=*/true);
    } else if (is_inline && (IsVoid(token.name) || ends_[i] == 0)) {
      builder_.Standalone(token.range, /*ordered=*/false, /*is_word=*/false);
    } else if (is_inline) {
      builder_.Open(token.range, token.name);
    }
    return i;
  }

  std::string_view Bytes(const ByteRange& range) const { return bytes_.substr(range.begin, range.end - range.begin); }

  // Elements that a request keeps by name are often placeholders, which are part of the sentence.
  bool IsKeptByName(const HtmlToken& token) const {
    const std::vector<std::string>& keep = options_.elements.keep;
    return std::find(keep.begin(), keep.end(), token.name) != keep.end();
  }

  bool IsKept(const HtmlToken& token) const { return IsKeptElement(bytes_, token, options_.source_language); }

  // The bytes are UTF-8, whatever a text of ASCII alone declares; a translation has other characters.
  void DeclareUtf8(const HtmlToken& token) {
    ByteRange declared;
    if (const HtmlAttribute* charset = token.Find("charset"); charset != nullptr) {
      declared = charset->value;
    } else if (absl::EqualsIgnoreCase(std::string(AttributeOf(bytes_, token, "http-equiv")), "content-type")) {
      constexpr std::string_view kCharset = "charset=";
      const std::string content = absl::AsciiStrToLower(std::string(AttributeOf(bytes_, token, "content")));
      const size_t at = content.find(kCharset);
      if (at == std::string::npos) return;
      const size_t begin = at + kCharset.size(), end = content.find_first_of("; \t\n\f\r", begin);
      const size_t value = token.Find("content")->value.begin;
      declared = {value + begin, value + std::min(end, content.size())};
    }
    const std::string_view name = Bytes(declared);
    if (!name.empty() && !IsOneOf(absl::AsciiStrToLower(std::string(name)), {"utf-8", "utf8"})) {
      edits_.push_back({declared, "utf-8"});
    }
  }

  // The language of the page becomes the target language, and so does that of a part in the source language.
  void DeclareLanguage(const HtmlToken& token) {
    if (options_.target_language.empty()) return;
    for (const char* name : {"lang", "xml:lang"}) {
      const std::string_view language = AttributeOf(bytes_, token, name);
      if (language.empty()) continue;
      const bool is_source = !options_.source_language.empty() && AreSameLanguage(language, options_.source_language);
      if (is_source || IsOneOf(token.name, {"html", "body"})) {
        edits_.push_back({token.Find(name)->value, options_.target_language});
      }
    }
  }

  void TakeAttributes(const HtmlToken& token) {
    DeclareLanguage(token);
    if (token.name == "meta" && !options_.target_language.empty()) DeclareUtf8(token);
    AddAttributeUnits(bytes_, token, rules_, &units_);
  }

  void Flush() { builder_.FinishEscaped(EscapeXml, &units_); }

  const std::string_view bytes_;
  const ParseOptions& options_;
  const size_t most_tokens_;
  const std::vector<HtmlToken> tokens_;
  const std::vector<size_t> ends_;
  const std::vector<bool> in_text_;  // of each token, whether it is a tag that FindElementsInText found
  const UnitRules rules_;
  UnitBuilder builder_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

}  // namespace

ParsedDocument ParseHtml(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "HTML", options.limits); !status.ok()) return status;
  return HtmlReader(bytes, options).Read();
}

}  // namespace salient
