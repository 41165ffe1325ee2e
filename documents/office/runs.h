// Paragraphs of runs, as in Office Open XML: a run is an element with text and its formatting properties.
//
//   <w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bold</w:t></w:r><w:r><w:t> and plain.</w:t></w:r></w:p>
//
// A unit is a paragraph. Text in its most frequent format has no markers; other formats become pairs of markers,
// hyperlinks become pairs around those, and fields (word_fields.h), pictures, tabs, notes and superscripts that refer
// to a note become single markers. A changed paragraph is written as new runs with the properties of the old ones. The
// alternative texts of pictures and the tooltips of hyperlinks are units, too.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "documents/office/package.h"

namespace salient {

// Element names, with their prefix.
struct RunNames {
  std::string paragraph, run, properties, text;
  std::string text_tag;              // the start tag of written text, with the attribute that preserves spaces
  std::vector<std::string> outside;  // children of a paragraph outside its text: its properties
  std::vector<std::string> dropped;  // omitted in a changed paragraph: marks of the spelling checker
  std::vector<std::string> opaque;   // elements with runs in them that are not translated
  // The properties for comparison and writing, without the language.
  std::string (*plain_properties)(std::string_view properties, const std::string& prefix,
                                  const std::string& target_language);
  std::string prefix;
  // The element and attribute that tell the language of a run: of its properties, or a child of them. Empty: none does.
  std::string language_element, language_attribute;
  std::string link, link_hint;  // the element of a link and its attribute with a tooltip. Empty: no such element here
  bool escapes_characters = false;  // texts have the escapes of character_escapes.h
};

PartContent ReadRuns(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options,
                     const RunNames& names);

}  // namespace salient
