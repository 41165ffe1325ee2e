#include "documents/syntax/markdown_syntax.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "documents/input.h"

namespace salient {
namespace {

bool IsMarkdownSpace(std::string_view text, size_t at) {
  return at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]));
}

// What follows the text of a link.
struct LinkTail {
  size_t end = 0;
  std::optional<ByteRange> title;  // without its quotes
};

// Behind white space, and behind the signs of a quotation at the beginning of the next line.
size_t MarkdownSpaceEnd(std::string_view text, size_t at) {
  bool on_next_line = false;
  for (; IsMarkdownSpace(text, at) || (on_next_line && at < text.size() && text[at] == '>'); ++at) {
    on_next_line = on_next_line || text[at] == '\n' || text[at] == '\r';
  }
  return at;
}

// The end of a destination that begins at `at`: of "<a b>", or of what has no white space.
size_t DestinationEnd(std::string_view text, size_t at) {
  if (at < text.size() && text[at] == '<') {
    while (at < text.size() && text[at] != '>') at += IsEscape(text, at) ? 2 : 1;
    return std::min(at + 1, text.size());
  }
  for (int depth = 0; at < text.size() && !IsMarkdownSpace(text, at); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && depth-- == 0) break;
    if (IsEscape(text, at)) ++at;
  }
  return at;
}

// Reads what follows the text of a link, which ends at `at`: "][label]", "](destination \"title\")", or only "]".
LinkTail ReadLinkTail(std::string_view text, size_t at) {
  const size_t next = at + 1;
  if (next < text.size() && text[next] == '[') {
    size_t i = next + 1;
    while (i < text.size() && text[i] != ']') i += text[i] == '\\' ? 2 : 1;
    return {std::min(i + 1, text.size())};
  }
  if (next >= text.size() || text[next] != '(') return {next};
  // Without a destination there is no title: that of [a]( "b") is "b", with the quotes.
  const size_t destination_end = DestinationEnd(text, MarkdownSpaceEnd(text, next + 1));
  size_t i = MarkdownSpaceEnd(text, destination_end);
  LinkTail tail;
  if (i > destination_end && i < text.size() && (text[i] == '"' || text[i] == '\'' || text[i] == '(')) {
    const char quote = text[i] == '(' ? ')' : text[i];
    const size_t begin = ++i;
    while (i < text.size() && text[i] != quote) i += IsEscape(text, i) ? 2 : 1;
    tail.title = {begin, std::min(i, text.size())};
    i = MarkdownSpaceEnd(text, i + 1);
  }
  if (i >= text.size() || text[i] != ')') return {next};
  tail.end = i + 1;
  return tail;
}

}  // namespace

size_t OpeningLength(std::string_view text, size_t begin, MD_SPANTYPE span, size_t at) {
  const auto run = [=](size_t from, char c) {
    while (from > begin && text[from - 1] == c) --from;
    return at - from;
  };
  switch (span) {
    case MD_SPAN_EM:
      return 1;
    case MD_SPAN_STRONG:
      return 2;
    case MD_SPAN_DEL:
      return std::min<size_t>(run(at, '~'), 2);
    case MD_SPAN_IMG:
      return 2;
    case MD_SPAN_CODE: {
      size_t from = at;
      while (from > begin && absl::ascii_isspace(static_cast<unsigned char>(text[from - 1]))) --from;
      return run(from, '`');
    }
    default:
      return 1;  // a link, or an address in angle brackets
  }
}

size_t DelimiterEnd(std::string_view text, MD_SPANTYPE span, bool closing, size_t at) {
  const auto run = [text](size_t from, char c) {
    while (from < text.size() && text[from] == c) ++from;
    return from;
  };
  switch (span) {
    case MD_SPAN_EM:
      return at + 1;
    case MD_SPAN_STRONG:
      return at + 2;
    case MD_SPAN_DEL:
      return std::min(run(at, '~'), at + 2);
    case MD_SPAN_CODE: {
      size_t from = at;
      while (closing && from < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[from]))) ++from;
      from = run(from, '`');
      while (!closing && from < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[from]))) ++from;
      return from;
    }
    case MD_SPAN_IMG:
      return closing ? ReadLinkTail(text, at).end : at + 2;
    default:
      return closing && at < text.size() && text[at] == ']' ? ReadLinkTail(text, at).end : at + 1;
  }
}

bool IsDelimiter(std::string_view text, MD_SPANTYPE span, bool closing, ByteRange range) {
  if (range.begin >= range.end || range.end > text.size()) return false;
  const char c = text[range.begin], last = text[range.end - 1];
  switch (span) {
    case MD_SPAN_EM:
    case MD_SPAN_STRONG:
      return (c == '*' || c == '_') && last == c;
    case MD_SPAN_DEL:
      return c == '~';
    case MD_SPAN_CODE:
      return c == '`' || last == '`';
    case MD_SPAN_IMG:
      return closing ? c == ']' : c == '!';
    default:
      return closing ? c == ']' || c == '>' : c == '[' || c == '<';
  }
}

bool IsEscape(std::string_view text, size_t at) {
  return text[at] == '\\' && at + 1 < text.size() && absl::ascii_ispunct(static_cast<unsigned char>(text[at + 1]));
}

std::optional<ByteRange> LinkTitle(std::string_view text, ByteRange link) {
  const LinkTail tail = ReadLinkTail(text.substr(0, link.end), link.begin);
  return tail.end == link.end ? tail.title : std::nullopt;
}

size_t FrontMatterEnd(std::string_view text) {
  const size_t begin = ByteOrderMark(text);
  for (const std::string_view fence : {"---", "+++"}) {
    if (text.substr(begin, 3) != fence) continue;
    size_t line = text.find('\n', begin);
    if (line == std::string_view::npos ||
        absl::StripAsciiWhitespace(std::string(text.substr(begin + 3, line - begin - 3))) != "")
      continue;
    while (line != std::string_view::npos) {
      const size_t next = text.find('\n', line + 1);
      std::string_view found = text.substr(line + 1, next == std::string_view::npos ? next : next - line - 1);
      if (found.ends_with('\r')) found.remove_suffix(1);
      if (found == fence || (fence == "---" && found == "..."))
        return next == std::string_view::npos ? text.size() : next + 1;
      line = next;
    }
  }
  return begin;
}

}  // namespace salient
