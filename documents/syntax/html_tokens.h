// HTML tokens in the order of the bytes, as defined by the tokenizer of the HTML standard (13.2.5), with two
// exceptions. In XHTML, which begins with `<?xml` or declares its namespace, an element that `/>` closes is empty. And
// an element of text, such as `title`, does not hold the rest of the document if its end tag never comes, unless it is
// a script or a style.
//
// No tree is built: units are runs of inline tokens between block tags, even if tags overlap, and copying needs the
// byte range of every token.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "documents/markup.h"

namespace salient {

struct HtmlAttribute {
  std::string name;   // in lower case
  ByteRange value;    // without quotes; empty if there is none
  char quote = '\0';  // '\0': not quoted
};

struct HtmlToken {
  enum class Kind { kText, kStart, kEnd, kOther };  // kOther: comments, doctype, and ignored bytes
  Kind kind = Kind::kOther;
  ByteRange range;
  std::string name;                       // of a tag, in lower case
  std::vector<HtmlAttribute> attributes;  // of a start tag, each name once
  bool self_closing = false;
  bool is_empty = false;  // self_closing, in XHTML, SVG or MathML: the element has no content
  bool raw = false;       // text without character references, as in a script

  const HtmlAttribute* Find(std::string_view attribute) const;
};

// Accepts any UTF-8. Linear time, except for the attributes of a tag, of which the first 100 are kept. Stops after
// `most` tokens, or a few more.
std::vector<HtmlToken> TokenizeHtml(std::string_view text, size_t most = static_cast<size_t>(-1));

}  // namespace salient
