#include "documents/markdown_syntax.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "documents/input.h"

namespace salient {
namespace {

// The end of a link whose text ends at `at`.
size_t LinkEnd(std::string_view text, size_t at) {
  const auto skip_space = [text](size_t i) {
    while (i < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[i]))) ++i;
    return i;
  };
  size_t i = at + 1;
  if (i < text.size() && text[i] == '[') {
    for (++i; i < text.size() && text[i] != ']'; ++i) i += text[i] == '\\';
    return std::min(i + 1, text.size());
  }
  if (i >= text.size() || text[i] != '(') return i;
  i = skip_space(i + 1);
  if (i < text.size() && text[i] == '<') {
    for (; i < text.size() && text[i] != '>'; ++i) i += text[i] == '\\';
    ++i;
  } else {
    for (int depth = 0; i < text.size() && !absl::ascii_isspace(static_cast<unsigned char>(text[i])); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && depth-- == 0) break;
      i += text[i] == '\\';
    }
  }
  i = skip_space(i);
  if (i < text.size() && (text[i] == '"' || text[i] == '\'' || text[i] == '(')) {
    const char end = text[i] == '(' ? ')' : text[i];
    for (++i; i < text.size() && text[i] != end; ++i) i += text[i] == '\\';
    i = skip_space(i + 1);
  }
  return i < text.size() && text[i] == ')' ? i + 1 : at + 1;
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
      return closing ? LinkEnd(text, at) : at + 2;
    default:
      return closing && at < text.size() && text[at] == ']' ? LinkEnd(text, at) : at + 1;
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
  size_t end = link.end - 1;  // the parenthesis
  if (text[end] != ')') return std::nullopt;
  while (end > link.begin && absl::ascii_isspace(static_cast<unsigned char>(text[end - 1]))) --end;
  const char quote = text[end - 1];
  if (quote != '"' && quote != '\'') return std::nullopt;
  for (size_t i = --end; i-- > link.begin + 2;) {
    if (text[i] == quote && absl::ascii_isspace(static_cast<unsigned char>(text[i - 1]))) return ByteRange{i + 1, end};
  }
  return std::nullopt;
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

std::string WithoutContainerFences(std::string_view text, size_t begin) {
  std::string out(text);
  for (size_t line = begin; line < out.size();) {
    const size_t end = std::min(out.find_first_of("\r\n", line), out.size());
    const size_t first = std::min(out.find_first_not_of(" \t", line), end);
    if (text.substr(first, 3) == ":::") std::fill(out.begin() + first, out.begin() + end, ' ');
    line = end + 1;
  }
  return out;
}

}  // namespace salient
