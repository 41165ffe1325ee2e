#include "documents/markdown_writer.h"

#include "absl/strings/ascii.h"
#include "documents/character_references.h"

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
  return c == '>' || ((c == '-' || c == '+') && space) ||
         (c == '#' && text.find_first_not_of('#') != std::string_view::npos &&
          text[text.find_first_not_of('#')] == ' ');
}

}  // namespace

MarkdownWriter::MarkdownWriter(std::string_view text, std::string_view raw) {
  for (const char c : text) plain_[static_cast<unsigned char>(c)] = true;
  for (size_t i = 0; i + 1 < raw.size(); ++i) {
    if (raw[i] != '\\') continue;
    plain_[static_cast<unsigned char>(raw[++i])] = false;
  }
}

std::string MarkdownWriter::Write(std::string_view text, bool at_beginning) const {
  std::string out;
  if (at_beginning && StartsBlock(text)) {
    const size_t digits = text.find_first_not_of("0123456789");
    out.append(text.substr(0, digits)).push_back('\\');
    text.remove_prefix(digits);
    out.push_back(text[0]);
    text.remove_prefix(1);
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const bool special = kSpecial.find(text[i]) != std::string_view::npos;
    if (c == '&' && ReadCharacterReference(text, i).length > 0) {
      out.append("&amp;");
    } else if (c == '\n' || c == '\r') {
      out.push_back(' ');
    } else {
      const char next = i + 1 < text.size() ? text[i + 1] : ' ';
      const bool begins_tag = c == '<' && (absl::ascii_isalpha(static_cast<unsigned char>(next)) || next == '/' ||
                                           next == '!' || next == '?');
      if (begins_tag || (special && !plain_[c])) out.push_back('\\');
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace salient
