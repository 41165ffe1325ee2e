// Finds parts of running text that must not be translated: placeholders, templates, addresses, names to keep.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "documents/markup.h"

namespace salient {

struct InlineSpan {
  size_t begin = 0, end = 0;
  MarkerKind kind = MarkerKind::kStandalone;
  std::string_view name;    // of a tag, so that its end can be found; part of the text, else empty
  bool is_tag = false;      // markup; a placeholder in contrast is a word of the sentence
  bool is_message = false;  // an argument of an ICU message; markup within belongs to it
};

struct InlineRules {
  std::vector<std::string> keep_terms;  // not translated if they are whole words in this spelling
  bool tags = false;                    // `<b>`, `</b>` and `<br/>` in text that is not itself HTML or XML
};

// The spans from left to right, disjoint:
//   {0} {name} {{ x }} {% x %} {# x #} <% x %> ${x} #{x} %{x}     templates and message formats
//   {n, plural, one{# file} other{# files}}                      arguments of ICU messages, branches included
//   {user[name]!r:>10} {when:%d.%m. %H:%M}                       replacement fields of Python and similar
//   %s %1$s %-5.2f %(name)s %" PRIu64 " %%                       printf and similar; not the percent sign of "50 % of"
//   https://example.org/a www.example.org mailto:a@b.org a@b.org  without the full stop at the end of a sentence, and
//                                                                 without what is Chinese or Japanese
// No span is longer than 1,000 bytes or contains a line break, except for ICU's arguments. Linear time.
std::vector<InlineSpan> FindInlineSpans(std::string_view text, const InlineRules& rules);

}  // namespace salient
