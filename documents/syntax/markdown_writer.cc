#include "documents/syntax/markdown_writer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "documents/syntax/character_references.h"
#include "documents/syntax/markdown_syntax.h"

namespace salient {
namespace {

constexpr std::string_view kSpecial = "\\`*_[]<~|";

// Whether Markdown would read the line as a heading, a quotation or a list item.
bool StartsBlock(std::string_view text) {
  const size_t at = text.find_first_not_of("0123456789");
  if (at == std::string_view::npos) return false;
  const char c = text[at];
  const bool space = at + 1 == text.size() || text[at + 1] == ' ';
  if (at > 0) return at < 10 && (c == '.' || c == ')') && space;
  return c == '>' || ((c == '-' || c == '+' || c == '*') && space) ||
         (c == '#' && text.find_first_not_of('#') != std::string_view::npos &&
          text[text.find_first_not_of('#')] == ' ');
}

// Whether Markdown would read the "&" at `at` as a part of a character reference, which ends with a semicolon.
bool BeginsReference(std::string_view text, size_t at) {
  const size_t length = ReadHtmlReference(text, at, /*in_attribute=*/false).length;
  return length > 0 && text[at + length - 1] == ';';
}

}  // namespace

MarkdownWriter::MarkdownWriter(std::string_view text, std::string_view raw) {
  for (const char c : kSpecial) escaped_[static_cast<unsigned char>(c)] = true;
  for (const char c : text) escaped_[static_cast<unsigned char>(c)] = false;
  for (size_t i = 0; i + 1 < raw.size(); ++i) {
    if (IsEscape(raw, i)) escaped_[static_cast<unsigned char>(raw[++i])] = true;
  }
}

std::string MarkdownWriter::Write(std::string_view text, bool at_beginning) const {
  std::string out;
  if (at_beginning) {
    const size_t spaces = std::min(text.find_first_not_of(' '), text.size());
    out.append(text.substr(0, spaces));
    text.remove_prefix(spaces);
  }
  if (at_beginning && StartsBlock(text)) {
    const size_t digits = text.find_first_not_of("0123456789");
    out.append(text.substr(0, digits)).push_back('\\');
    text.remove_prefix(digits);
    out.push_back(text[0]);
    text.remove_prefix(1);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '&' && BeginsReference(text, i)) {
      out.append("&amp;");
    } else if (c == '\n' || c == '\r') {
      out.push_back(' ');
    } else {
      const char next = i + 1 < text.size() ? text[i + 1] : ' ';
      const bool begins_tag = c == '<' && (absl::ascii_isalpha(static_cast<unsigned char>(next)) || next == '/' ||
                                           next == '!' || next == '?');
      // Before a marker or the end of a line, a backslash would escape what follows, too.
      const bool escapes =
          c == '\\' && (i + 1 == text.size() || absl::ascii_ispunct(static_cast<unsigned char>(text[i + 1])));
      if (begins_tag || escapes || escaped_[c]) out.push_back('\\');
      out.push_back(text[i]);
    }
  }
  return out;
}

std::string WriteTitle(std::string_view text, char quote) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote || text[i] == '\\' || (text[i] == '(' && quote == ')')) out.push_back('\\');
    out.append(text[i] == '&' && BeginsReference(text, i) ? "&amp;" : text.substr(i, 1));
  }
  return out;
}

}  // namespace salient
