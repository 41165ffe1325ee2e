// Translated text as Markdown, with the escapes that it needs.

#pragma once

#include <bitset>
#include <string>
#include <string_view>

namespace salient {

class MarkdownWriter {
 public:
  // `text`: the unit's text; `raw`: the same in the source. Characters that the source escapes are escaped, and so are
  // special characters that only the translation contains.
  MarkdownWriter(std::string_view text, std::string_view raw);

  // `at_beginning`: of a line, where text can begin a heading, a quotation or a list.
  std::string Write(std::string_view text, bool at_beginning) const;

 private:
  std::bitset<256> escaped_;  // which characters need a backslash
};

// The title of a link as Markdown, without the quotes around it. `quote`: the last one, or a parenthesis.
std::string WriteTitle(std::string_view text, char quote);

}  // namespace salient
