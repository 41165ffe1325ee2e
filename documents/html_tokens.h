// HTML's tokens in the order of the bytes, as the tokenizer of the HTML standard (13.2.5) finds them.
//
// A tree is not built: units are runs of inline tokens between block tags, whatever tree a browser makes of tags that
// overlap, and what is copied must be known by its bytes.

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
  enum class Kind { kText, kStart, kEnd, kOther };  // kOther: comments, doctype, and what is ignored
  Kind kind = Kind::kOther;
  ByteRange range;
  std::string name;                       // of a tag, in lower case
  std::vector<HtmlAttribute> attributes;  // of a start tag, each name once
  bool self_closing = false;
  bool raw = false;  // text in which "&" is no reference, as in a script

  const HtmlAttribute* Find(std::string_view attribute) const;
};

// Any UTF-8 is HTML. Time is linear in the text but for a tag's attributes, of which it keeps 100.
std::vector<HtmlToken> TokenizeHtml(std::string_view text);

}  // namespace salient
