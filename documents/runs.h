// Paragraphs of runs, as Office Open XML has them: every stretch of text of one format is an element with properties.
//
//   <w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bold</w:t></w:r><w:r><w:t> and plain.</w:t></w:r></w:p>
//
// The unit is the paragraph. Text in the format that most of it has is plain; other formats are pairs of markers,
// hyperlinks are pairs around those, and fields, pictures, tabs and notes stand by themselves. A changed paragraph is
// written anew as runs with the properties of the old.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "documents/package.h"

namespace salient {

// Element names with their prefix.
struct RunNames {
  std::string paragraph, run, properties, text;
  std::string text_tag;              // the start tag of a text that is written, with what keeps its spaces
  std::vector<std::string> outside;  // children of a paragraph that are no part of its text: its properties
  std::vector<std::string> dropped;  // what a changed paragraph does without: marks of the spelling checker
  std::vector<std::string> opaque;   // elements with runs in them that are not translated
  // The properties as they are compared and written: without what tells the language.
  std::string (*plain_properties)(std::string_view properties, const std::string& prefix,
                                  const std::string& target_language);
  std::string prefix;
};

std::vector<PlacedUnit> ReadRuns(std::string_view bytes, const std::vector<XmlEvent>& events,
                                 const ParseOptions& options, const RunNames& names);

}  // namespace salient
