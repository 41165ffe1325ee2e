// What md4c is shown of a document, with the extensions of Markdown that it does not know in terms of those that it
// does.
//
// - Hidden: the lines of fences of containers (":::note", Docusaurus, MyST, VuePress), of attributes ("{: .class}",
//   kramdown), of tags ("{% if x %}", "{{< note >}}", Jekyll and Hugo) and of signs of alerts ("> [!NOTE]", GitHub and
//   Obsidian), and display math ("$$" to "$$"). md4c sees blank lines, which end a paragraph.
// - Hidden as well: the colon of a line ": Definition" of a definition list (Pandoc, kramdown, Hugo) right after a line
//   of text. md4c sees white space at the beginning of the line.
// - A footnote ("[^1]: Text") and the line of an admonition or a tab ("!!! note "Title"", MkDocs) begin an item of a
//   list, because what belongs to them is indented as in an item.
// - A table may follow text without an empty line, and the cells of its delimiter row may have one dash: GitHub reads
//   such tables, while md4c needs three dashes.
// - Tabs at the end of a fence of code, of the line under a heading and of other lines of signs are spaces: md4c would
//   take the line for text.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "documents/markup.h"

namespace salient {

class MarkdownView {
 public:
  // Of a document, whose Markdown starts at `begin`.
  MarkdownView(std::string_view document, size_t begin);

  const std::string& text() const { return text_; }

  // The bytes of the document that a part of text() stands for.
  ByteRange SourceOf(ByteRange part) const;

  // Whether some of these bytes of the document are hidden.
  bool HidesIn(ByteRange range) const;

 private:
  class Builder;
  size_t SourceOf(size_t at) const;

  struct Copy {
    size_t at = 0;      // in text_
    size_t source = 0;  // in the document
    size_t size = 0;
  };

  std::string text_;
  std::vector<Copy> copies_;       // ascending
  std::vector<ByteRange> hidden_;  // ascending, of the document
};

}  // namespace salient
