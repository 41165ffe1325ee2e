// Finds parts of running text that must not be translated: placeholders, templates, addresses, names to keep.

#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "documents/document.h"
#include "documents/markup.h"

namespace salient {

struct InlineSpan {
  size_t begin = 0, end = 0;
  MarkerKind kind = MarkerKind::kStandalone;
  std::string_view name;    // of a tag, so that its end can be found; part of the text, else empty
  bool is_tag = false;      // markup; a placeholder in contrast is a word of the sentence
  bool is_message = false;  // an argument of an ICU message; markup within belongs to it
};

// Words that are not translated where they stand as whole words in this spelling. A lookup looks at most once at each
// byte of the longest one, however many begin alike. Copies share what is made of them once, so that a document of many
// units makes it once, too.
class KeptTerms {
 public:
  KeptTerms() = default;
  KeptTerms(const std::vector<std::string>& terms);
  KeptTerms(std::initializer_list<std::string> terms) : KeptTerms(std::vector<std::string>(terms)) {}

  // The end of the longest one that stands at byte `at` of the text; `at` if none does.
  size_t End(std::string_view text, size_t at) const;

 private:
  std::shared_ptr<const std::vector<std::string>> terms_;  // ascending and different; null: there are none
};

struct InlineRules {
  KeptTerms keep_terms;
  bool tags = false;                 // `<b>`, `</b>` and `<br/>` in text that is not itself HTML or XML
  bool markdown = false;             // what Markdown has besides
  std::string source_language = {};  // of the elements that are kept (JoinKeptElements); empty: not known
};

// The spans from left to right, disjoint:
//   {0} {name} {{ x }} {% x %} {# x #} <% x %> ${x} #{x} %{x}     templates and message formats
//   {n, plural, one{# file} other{# files}}                      arguments of ICU messages, branches included
//   {user[name]!r:>10} {when:%d.%m. %H:%M}                       replacement fields of Python and similar
//   %s %1$s %-5.2f %(name)s %" PRIu64 " %%                       printf and similar; not the percent sign of "50 % of"
//   %name% %ds %Y                                                 and other names behind a percent sign
//   $NAME$ $t(key) @:menu.open                                    of Chrome's extensions, i18next and Vue
//   https://example.org/a www.example.org mailto:a@b.org a@b.org  without the full stop at the end of a sentence, and
//                                                                 without what is Chinese or Japanese
//   [^1] $x^2$ $$x^2$$ :smile: @user {: .class} {#id .class}      in Markdown
// No span is longer than 1,000 bytes or contains a line break, except for ICU's arguments. Linear time.
std::vector<InlineSpan> FindInlineSpans(std::string_view text, const InlineRules& rules);

// The spans of FindInlineSpans, but each element that is not translated (syntax/html_elements.h), such as
// "<code>a b</code>", is one span with all that is in it, where `may_join` allows this for the bytes from the first to
// the second.
std::vector<InlineSpan> JoinKeptElements(std::string_view text, const std::vector<InlineSpan>& spans,
                                         std::string_view source_language,
                                         const std::function<bool(size_t, size_t)>& may_join);

}  // namespace salient
