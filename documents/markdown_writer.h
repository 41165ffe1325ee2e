// Translated text as Markdown, with the escapes that it needs.

#pragma once

#include <bitset>
#include <string>
#include <string_view>

namespace salient {

class MarkdownWriter {
 public:
  // `text`: the unit's text; `raw`: the same in the source. Special characters that the source does not escape are not
  // escaped. All others are: those that the source escapes, and those that only the translation contains.
  MarkdownWriter(std::string_view text, std::string_view raw);

  // `at_beginning`: of a line, where text can begin a heading, a quotation or a list.
  std::string Write(std::string_view text, bool at_beginning) const;

 private:
  std::bitset<256> plain_;  // which special characters need no backslash
};

}  // namespace salient
