// Fields of Word documents: an instruction, such as PAGE, and the result that Word computes from it.
//
//   <w:fldChar w:fldCharType="begin"/> <w:instrText>PAGE</w:instrText>
//   <w:fldChar w:fldCharType="separate"/> <w:t>3</w:t> <w:fldChar w:fldCharType="end"/>
//
// These elements are in runs, several in one run or each in its own. A field may begin in one paragraph and end in
// another, and fields nest.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "documents/syntax/xml_events.h"

namespace salient {

// A part of a document that is kept because it belongs to a field.
struct FieldPart {
  enum class Kind { kWhole, kOpen, kClose };  // kOpen and kClose: before and after a result that is translated
  Kind kind = Kind::kWhole;
  size_t first = 0, last = 0;  // the start events of the fldChar elements where it begins and ends
  size_t field = 0;            // the same for the two parts of a field
  size_t story = 0;            // the start event of the text box or note in which it is, 0 outside of them
};

// The parts from left to right, disjoint. Parts within other parts are left out. A field that does not end has none.
// `prefix` is that of the element names. Elements `opaque` are not looked into.
std::vector<FieldPart> FindFields(std::string_view bytes, const std::vector<XmlEvent>& events,
                                  const std::string& prefix, const std::vector<std::string>& opaque);

// Whether the result of a field is text of the document: that of HYPERLINK and TOC is. Word overwrites other results
// when it updates the field.
bool IsResultTranslated(std::string_view instruction);

}  // namespace salient
