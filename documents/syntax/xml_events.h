// XML as a list of events with their byte ranges, so that unchanged parts can be copied.
//
// The parser is Expat. Documents that declare entities are refused: no format here needs them, and entity expansion is
// a known attack. External entities are never fetched.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/patch.h"

namespace salient {

struct XmlEvent {
  enum class Kind { kStart, kEnd, kText, kOther };  // kOther: comments, processing instructions, unknown references
  Kind kind = Kind::kOther;
  ByteRange range;   // an end of `<a/>` is empty
  std::string name;  // of an element, with its prefix
  std::string text;  // kText: references resolved
  size_t match = 0;  // index of the kEnd event of a kStart event, and vice versa
};

// `what` names the document or its part in errors. INVALID_ARGUMENT with line and reason if the bytes are not XML in
// UTF-8; RESOURCE_EXHAUSTED beyond limits.max_bytes, max_depth or max_events.
absl::StatusOr<std::vector<XmlEvent>> ParseXml(std::string_view bytes, std::string_view what,
                                               const DocumentLimits& limits);
// The same for what may stand within an element: text beside elements, or several of them. It declares nothing.
absl::StatusOr<std::vector<XmlEvent>> ParseXmlPiece(std::string_view bytes, std::string_view what,
                                                    const DocumentLimits& limits);

// The range of an attribute's value in a start tag, without the quotes; `tag` is the range of the event.
std::optional<ByteRange> FindAttribute(std::string_view bytes, ByteRange tag, std::string_view name);
// The bytes of an attribute's value, references unresolved; "" if there is no such attribute.
std::string_view AttributeOf(std::string_view bytes, const XmlEvent& event, std::string_view name);
// The same, references resolved.
std::string AttributeText(std::string_view bytes, const XmlEvent& event, std::string_view name);

// The document's prefix of a namespace, with its colon: "w:"; "" for the default; none if it is not declared.
std::optional<std::string> PrefixOf(std::string_view bytes, const std::vector<XmlEvent>& events,
                                    std::string_view name_space);

// Whether they begin with `<?xml version="1.0"?>` or its like, perhaps after a byte order mark.
bool BeginsWithXmlDeclaration(std::string_view bytes);

// Edits that declare UTF-8 where the XML declaration names another encoding: what is written is UTF-8.
std::vector<Edit> EncodingEdits(std::string_view bytes);

// The text without characters that XML must not have, not even escaped: controls other than white space, U+FFFE,
// U+FFFF.
std::string WithoutForbidden(std::string_view text);

// WithoutForbidden; escapes &, <, > and carriage returns; in attributes quotation marks, line breaks and tabs, too.
std::string EscapeXml(std::string_view text);
std::string EscapeXmlAttribute(std::string_view text);

}  // namespace salient
