#include "documents/units/inline_spans.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "documents/ascii.h"
#include "documents/syntax/html_elements.h"
#include "documents/syntax/message_fields.h"
#include "engine/text/document.h"

namespace salient {
namespace {

constexpr size_t kLongestSpan = 1000;  // bytes of a span
constexpr size_t kLongestPart = 64;

// Letters with their accents, digits and underscores.
bool IsWordCharacter(UChar32 c) {
  return c >= 0 && (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 &&
         !IsWide(static_cast<char32_t>(c));
}

bool WordBefore(std::string_view text, size_t at) {
  if (at == 0) return false;
  auto end = static_cast<int32_t>(at);
  UChar32 c;
  U8_PREV(reinterpret_cast<const uint8_t*>(text.data()), 0, end, c);
  return IsWordCharacter(c);
}

bool WordAt(std::string_view text, size_t at) {
  if (at >= text.size()) return false;
  UChar32 c;
  U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, text.size(), c);
  return IsWordCharacter(c);
}

// `start` is in lower case.
bool StartsWithAnyCase(std::string_view text, std::string_view start) {
  return text.size() >= start.size() && std::equal(start.begin(), start.end(), text.begin(), [](char a, char b) {
           return a == absl::ascii_tolower(static_cast<unsigned char>(b));
         });
}

struct Brackets {
  std::string_view open, close;
};
constexpr Brackets kTemplates[] = {{"$t(", ")"}, {"{{{", "}}}"}, {"{{", "}}"}, {"{%", "%}"}, {"{#", "#}"},
                                   {"<%", "%>"}, {"${", "}"},    {"#{", "}"},  {"%{", "}"}};

// The end of a template at `at`, or `at`.
size_t TemplateEnd(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at, kLongestSpan);
  for (const Brackets& brackets : kTemplates) {
    if (!rest.starts_with(brackets.open)) continue;
    const size_t close = rest.substr(0, rest.find('\n')).find(brackets.close, brackets.open.size());
    if (close != std::string_view::npos) return at + close + brackets.close.size();
  }
  return at;
}

// "{0}", "{name}", "{0,number,#.##}": no white space but after a comma, so that prose in braces stays text. Other
// replacement fields have a grammar of their own.
size_t BraceEnd(std::string_view text, size_t at) {
  if (text[at] != '{') return at;
  for (size_t i = at + 1; i < text.size() && i - at <= kLongestPart; ++i) {
    const char c = text[i];
    if (c == '}') return i + 1;
    const bool allowed =
        absl::ascii_isalnum(c) || std::string_view("_.-:,#$@%?!/+\\").find(c) != std::string_view::npos;
    if (!allowed && !(c == ' ' && text[i - 1] == ',')) return at;
  }
  return at;
}

// The end of the name of a type, such as `" PRIu64 "`, or `<PRIu64>` as gettext writes it; `at` if none begins there.
size_t PrintfMacroEnd(std::string_view text, size_t at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '<')) return at;
  const char closing = text[at] == '<' ? '>' : '"';
  const auto skip_spaces = [&](size_t i) {
    while (i < text.size() && text[i] == ' ' && closing == '"') ++i;
    return i;
  };
  size_t i = skip_spaces(at + 1);
  if (!text.substr(i).starts_with("PRI")) return at;
  while (i < text.size() && i - at < kLongestPart && absl::ascii_isalnum(text[i])) ++i;
  i = skip_spaces(i);
  return i < text.size() && text[i] == closing ? i + 1 : at;
}

bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

// Behind the letters, digits and underscores of ASCII at `at`.
size_t NameEnd(std::string_view text, size_t at) {
  while (at < text.size() && IsNameCharacter(text[at])) ++at;
  return at;
}

// "%name%", "%user.name%", and what a percent sign begins where none of a number can be: "%ds", "%MB", "%Y", "%Lf".
size_t PercentNameEnd(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  if (WordBefore(text, at) || (before.size() > 1 && before.back() == ' ' && IsDigit(before[at - 2]))) {
    return at;
  }
  if (at + 1 >= text.size() || !IsLetter(text[at + 1])) return at;
  const size_t name = std::min(NameEnd(text, at + 1), at + kLongestPart);
  size_t end = name;
  while (end < text.size() && end - at < kLongestPart && (IsNameCharacter(text[end]) || IsOneOf(text[end], ".-")))
    ++end;
  const bool is_closed =
      end < text.size() && text[end] == '%' && !WordAt(text, end + 1) && !text.substr(end + 1).starts_with('%');
  if (is_closed) return end + 1;
  return WordAt(text, name) ? at : name;
}

// "$NAME$" of Chrome's extensions, and "@:menu.open" of Vue, which stands for another message.
size_t ReferenceToMessageEnd(std::string_view text, size_t at) {
  if (!IsOneOf(text[at], "$@") || at + 1 >= text.size() || WordBefore(text, at)) return at;
  if (text[at] == '$') {
    const size_t end = NameEnd(text, at + 1);
    const bool is_name = IsLetter(text[at + 1]) && end < text.size() && text[end] == '$' && !WordAt(text, end + 1);
    return is_name ? end + 1 : at;
  }
  if (text[at + 1] != ':') return at;
  size_t end = at + 2;
  while (end < text.size() && (IsNameCharacter(text[end]) || IsOneOf(text[end], ".-"))) ++end;
  while (IsOneOf(text[end - 1], ".-")) --end;
  return end > at + 2 ? end : at;
}

// printf's conversions, without the flag that is a space: "50 % of" is prose.
size_t PercentEnd(std::string_view text, size_t at) {
  if (text[at] != '%') return at;
  if (const size_t end = PercentNameEnd(text, at); end > at) return end;
  size_t i = at + 1;
  if (text.substr(i).starts_with('%')) return i + 1;
  const auto skip = [&](std::string_view set) {
    while (i < text.size() && i - at < 16 && set.find(text[i]) != std::string_view::npos) ++i;
  };
  if (i < text.size() && text[i] == '(') {
    const size_t close = text.substr(0, at + kLongestPart).find(')', i);
    if (close == std::string_view::npos) return at;
    i = close + 1;
  } else {
    const size_t digits = i;
    skip("0123456789");
    if (i > digits && i < text.size() && text[i] == '$') {
      ++i;
    } else {
      i = digits;
    }
  }
  skip("-+#0");
  skip("0123456789*.");
  if (const size_t end = PrintfMacroEnd(text, i); end > i) return end;
  skip("hlqjzt");
  constexpr std::string_view kConversions = "diouxXeEfFgGaAcCsSpn@";
  if (i >= text.size() || kConversions.find(text[i]) == std::string_view::npos || WordAt(text, i + 1)) return at;
  // In "a%b" it is a sign of arithmetic.
  return WordBefore(text, at) && std::string_view("sdiu@").find(text[i]) == std::string_view::npos ? at : i + 1;
}

// Where an address that begins at `begin` ends, without punctuation that belongs to the sentence.
size_t TrimAddress(std::string_view text, size_t begin, size_t end) {
  constexpr std::string_view kEllipsis = "\u2026";
  std::array<size_t, 128> counts = {};  // of each byte of ASCII in the address
  for (const char c : text.substr(begin, end - begin)) {
    if (static_cast<unsigned char>(c) < counts.size()) ++counts[static_cast<unsigned char>(c)];
  }
  while (end > begin) {
    const char last = text[end - 1];
    if (text.substr(begin, end - begin).ends_with(kEllipsis)) {
      end -= kEllipsis.size();
      continue;
    }
    const char opening = last == ')' ? '(' : last == ']' ? '[' : last == '}' ? '{' : '\0';
    const bool is_mark = std::string_view(".,;:!?'\"*_").find(last) != std::string_view::npos;
    const bool closes_nothing =
        opening != '\0' && counts[static_cast<unsigned char>(opening)] < counts[static_cast<unsigned char>(last)];
    if (!is_mark && !closes_nothing) break;
    --counts[static_cast<unsigned char>(last)];
    --end;
  }
  return end;
}

// White space, quotes and brackets but those of ASCII, and all characters of Chinese and Japanese.
bool EndsUrl(UChar32 c) {
  if (c >= 0 && c < 0x80) {
    return absl::ascii_isspace(static_cast<unsigned char>(c)) || absl::ascii_iscntrl(static_cast<unsigned char>(c)) ||
           std::string_view("<>\"`|").find(static_cast<char>(c)) != std::string_view::npos;
  }
  constexpr uint32_t kQuotes = U_GC_PI_MASK | U_GC_PF_MASK | U_GC_PS_MASK | U_GC_PE_MASK;
  return u_isUWhiteSpace(c) || (U_GET_GC_MASK(c) & kQuotes) != 0 || IsWide(static_cast<char32_t>(c));
}

size_t UrlEnd(std::string_view text, size_t at) {
  constexpr std::string_view kStarts[] = {"http://", "https://", "ftp://", "file://", "mailto:", "www."};
  if (WordBefore(text, at)) return at;
  const std::string_view rest = text.substr(at, kLongestSpan);
  for (const std::string_view start : kStarts) {
    if (!StartsWithAnyCase(rest, start)) continue;
    size_t end = at + start.size();
    for (size_t next = end; next < text.size(); end = next) {
      UChar32 c;
      U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), next, text.size(), c);
      if (EndsUrl(c) || next - at > kLongestSpan) break;
    }
    end = TrimAddress(text, at, end);
    if (end > at + start.size()) return end;
  }
  return at;
}

bool IsMailByte(char c) {
  return absl::ascii_isalnum(c) || std::string_view("._%+-").find(c) != std::string_view::npos;
}

// The end of an e-mail address that begins at `at`, or `at`.
size_t MailEnd(std::string_view text, size_t at) {
  if (!absl::ascii_isalnum(text[at]) || (at > 0 && (IsMailByte(text[at - 1]) || WordBefore(text, at)))) return at;
  size_t i = at;
  while (i < text.size() && i - at < kLongestPart && IsMailByte(text[i])) ++i;
  if (i >= text.size() || text[i] != '@') return at;
  const size_t domain = ++i;
  while (i < text.size() && i - domain < 254 && (absl::ascii_isalnum(text[i]) || text[i] == '.' || text[i] == '-')) ++i;
  while (i > domain && !absl::ascii_isalnum(text[i - 1])) --i;
  const std::string_view host = text.substr(domain, i - domain);
  const size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || host.size() - dot < 3 || WordAt(text, i)) return at;
  return i;
}

// `<name ...>`, `</name>` or `<name ... />`.
bool FindTag(std::string_view text, size_t at, InlineSpan& span) {
  if (text[at] != '<' || at + 1 >= text.size()) return false;
  const bool closes = text[at + 1] == '/';
  const size_t name = at + 1 + (closes ? 1 : 0);
  size_t i = name;
  while (i < text.size() && i - name < kLongestPart &&
         (absl::ascii_isalnum(text[i]) || text[i] == '-' || text[i] == ':' || text[i] == '.'))
    ++i;
  if (i == name || text[name] == '-') return false;
  const size_t name_end = i;
  if (i < text.size() && text[i] != '>' && text[i] != '/' && !absl::ascii_isspace(text[i])) return false;
  char quote = '\0';
  for (; i < text.size() && i - at < kLongestSpan; ++i) {
    const char c = text[i];
    if (c == '\n' || (quote == '\0' && c == '<')) return false;
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      std::string_view tag = text.substr(name, name_end - name);
      tag = tag.substr(0, tag.find('.'));  // "<c.loud>" of WebVTT ends in "</c>"
      const bool single = text[i - 1] == '/' || tag == "br" || tag == "img" || tag == "hr" || tag == "wbr";
      span = {at, i + 1, closes ? MarkerKind::kClose : single ? MarkerKind::kStandalone : MarkerKind::kOpen, tag, true};
      return true;
    }
  }
  return false;
}

// "[^label]" of a footnote.
size_t FootnoteEnd(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with("[^")) return at;
  size_t i = at + 2;
  while (i < text.size() && i - at < kLongestPart && !IsOneOf(text[i], " []")) ++i;
  return i > at + 2 && i < text.size() && text[i] == ']' ? i + 1 : at;
}

// "$x^2$" and "$$x^2$$", but nothing between the prices "$5 and $10".
size_t MathEnd(std::string_view text, size_t at) {
  if (text[at] != '$' || WordBefore(text, at)) return at;
  const std::string_view rest = text.substr(at, kLongestSpan);
  if (rest.starts_with("$$")) {
    const size_t close = rest.find("$$", 2);
    return close == std::string_view::npos || close == 2 ? at : at + close + 2;
  }
  if (rest.size() < 2 || IsSpace(rest[1])) return at;
  const size_t close = rest.find('$', 2);
  return close == std::string_view::npos || IsSpace(rest[close - 1]) || WordAt(text, at + close + 1) ? at
                                                                                                     : at + close + 1;
}

// ":emoji:" and "@user", as GitHub has them.
size_t ShortcodeEnd(std::string_view text, size_t at) {
  if (!IsOneOf(text[at], ":@") || WordBefore(text, at)) return at;
  size_t end = at + 1;
  while (end < text.size() && end - at < kLongestPart && (IsNameCharacter(text[end]) || IsOneOf(text[end], "-+")))
    ++end;
  if (end == at + 1 || (text[at] == '@' && !IsLetter(text[at + 1]))) return at;
  if (text[at] == ':') return end < text.size() && text[end] == ':' && !WordAt(text, end + 1) ? end + 1 : at;
  return WordAt(text, end) ? at : end;
}

// The end of an attribute list: "{: .class}", "{.class #id}", "{ #id }".
size_t AttributesEnd(std::string_view text, size_t at) {
  if (text[at] != '{') return at;
  const std::string_view rest = text.substr(at, kLongestSpan);
  const size_t first = rest.find_first_not_of(' ', 1), close = rest.find_first_of("}\n");
  const bool begins = first != std::string_view::npos && IsOneOf(rest[first], ":.#");
  return begins && close != std::string_view::npos && rest[close] == '}' ? at + close + 1 : at;
}

}  // namespace

KeptTerms::KeptTerms(const std::vector<std::string>& terms) {
  auto sorted = std::make_shared<std::vector<std::string>>(terms);
  std::erase_if(*sorted, [](const std::string& term) { return term.empty() || term.size() > kLongestKeptTerm; });
  std::sort(sorted->begin(), sorted->end());
  sorted->erase(std::unique(sorted->begin(), sorted->end()), sorted->end());
  if (!sorted->empty()) terms_ = std::move(sorted);
}

size_t KeptTerms::End(std::string_view text, size_t at) const {
  if (terms_ == nullptr || WordBefore(text, at)) return at;
  size_t longest = at;
  // Those terms whose first bytes are the text's. One that ends there comes before the longer ones.
  auto first = terms_->begin(), last = terms_->end();
  for (size_t i = 0; first != last && at + i < text.size(); ++i) {
    const auto byte_of = [i](const std::string& term) { return static_cast<unsigned char>(term[i]); };
    const auto wanted = static_cast<unsigned char>(text[at + i]);
    if (byte_of(*first) != wanted || byte_of(*std::prev(last)) != wanted) {
      first = std::partition_point(first, last, [&](const std::string& term) { return byte_of(term) < wanted; });
      last = std::partition_point(first, last, [&](const std::string& term) { return byte_of(term) == wanted; });
    }
    if (first == last || first->size() > i + 1) continue;
    if (!WordAt(text, at + i + 1)) longest = at + i + 1;
    ++first;
  }
  return longest;
}

std::vector<InlineSpan> FindInlineSpans(std::string_view text, const InlineRules& rules) {
  MessageArguments messages(text);
  std::vector<InlineSpan> spans;
  for (size_t at = 0; at < text.size();) {
    InlineSpan span{at, at};
    if (rules.tags && FindTag(text, at, span)) {
      spans.push_back(span);
      at = span.end;
      continue;
    }
    span.end = messages.End(at);  // before templates: a branch may begin with "{{"
    span.is_message = span.end > at;
    if (!span.is_message) {
      span.end = std::max({rules.keep_terms.End(text, at), TemplateEnd(text, at), BraceEnd(text, at),
                           ReplacementFieldEnd(text, at), PercentEnd(text, at), ReferenceToMessageEnd(text, at),
                           UrlEnd(text, at), MailEnd(text, at)});
    }
    if (rules.markdown && span.end == at) {
      span.end = std::max({FootnoteEnd(text, at), MathEnd(text, at), ShortcodeEnd(text, at), AttributesEnd(text, at)});
      span.is_tag = text[at] == '[';  // of a footnote: no word
    }
    if (span.end == at) {
      ++at;
      continue;
    }
    spans.push_back(span);
    at = span.end;
  }
  return spans;
}

std::vector<InlineSpan> JoinKeptElements(std::string_view text, const std::vector<InlineSpan>& spans,
                                         std::string_view source_language,
                                         const std::function<bool(size_t, size_t)>& may_join) {
  std::vector<size_t> ends(spans.size());  // of each start tag the index of its end tag; 0: it has none
  TagPairing pairing;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!spans[i].is_tag || spans[i].kind == MarkerKind::kStandalone) continue;
    const std::string name = absl::AsciiStrToLower(std::string(spans[i].name));
    if (spans[i].kind == MarkerKind::kOpen) {
      pairing.Start(name, i);
    } else if (const std::optional<size_t> start = pairing.End(name); start.has_value()) {
      ends[*start] = i;
    }
  }
  std::vector<InlineSpan> joined;
  for (size_t i = 0; i < spans.size(); ++i) {
    joined.push_back(spans[i]);
    if (ends[i] == 0) continue;
    const std::string_view bytes = text.substr(spans[i].begin, spans[i].end - spans[i].begin);
    const HtmlToken tag = TokenizeHtml(bytes)[0];
    const bool is_kept = IsKeptElement(bytes, tag, source_language);
    const size_t end = spans[ends[i]].end;
    if ((!is_kept && !IsOpaqueElement(tag.name)) || !may_join(spans[i].begin, end)) continue;
    const bool is_word = is_kept || IsWordElement(tag.name);
    joined.back() = {.begin = spans[i].begin, .end = end, .is_tag = !is_word};
    i = ends[i];
  }
  return joined;
}

}  // namespace salient
