// Which elements of HTML are not translated: in HTML, in Markdown, and in strings with tags.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/syntax/html_tokens.h"

namespace salient {

// The bytes of an attribute's value, references unresolved; "" if there is no such attribute. `text`: what the token
// was read from.
std::string_view AttributeOf(std::string_view text, const HtmlToken& start, std::string_view name);

// Elements without text to translate. Those of IsWordElement count as a word of their sentence.
bool IsOpaqueElement(std::string_view name);
bool IsWordElement(std::string_view name);

// Whether a start tag says that its element is kept: by translate="no", by the class notranslate or one of Google's
// fonts of icons, whose text is the name of an icon, or by the `lang` of another language than `source_language`
// (empty: not known).
bool IsKeptElement(std::string_view text, const HtmlToken& start, std::string_view source_language);

// Pairs the tags of a text, in their order: an end tag ends the innermost element of its name that is open.
class TagPairing {
 public:
  void Start(const std::string& name, size_t tag) { open_[name].push_back(tag); }
  // The start tag of the element that ends here.
  std::optional<size_t> End(const std::string& name);

 private:
  std::map<std::string, std::vector<size_t>> open_;  // by name
};

}  // namespace salient
