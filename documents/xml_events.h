// XML as a list of events with the bytes of each: so that what is not changed can be copied.
//
// Expat reads it. Documents that declare entities are refused, for nothing here needs them, and those that expand are
// the oldest trick; external ones are never fetched.

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
  enum class Kind { kStart, kEnd, kText, kOther };  // kOther: comments, instructions, a reference that is not known
  Kind kind = Kind::kOther;
  ByteRange range;          // an end of `<a/>` is empty
  std::string name;         // of an element, with its prefix
  std::string text;         // kText: references resolved
  bool is_literal = false;  // kText: the bytes are the text
  size_t match = 0;         // of kStart its kEnd, and the other way round: indexes of events
};

// `what` names the document or its part in errors. INVALID_ARGUMENT with line and reason where the bytes are not XML
// in UTF-8; RESOURCE_EXHAUSTED beyond limits.max_bytes or max_depth.
absl::StatusOr<std::vector<XmlEvent>> ParseXml(std::string_view bytes, std::string_view what,
                                               const DocumentLimits& limits);

// Where the value of a start tag's attribute is, without the quotes; `tag` is the range of the event.
std::optional<ByteRange> FindAttribute(std::string_view bytes, ByteRange tag, std::string_view name);
// Its bytes, references unresolved; "" if it is not there.
std::string_view AttributeOf(std::string_view bytes, const XmlEvent& event, std::string_view name);

// The prefix that the document gives a namespace, with its colon: "w:"; "" for the default; none if it is not declared.
std::optional<std::string> PrefixOf(std::string_view bytes, const std::vector<XmlEvent>& events,
                                    std::string_view name_space);

// Escapes &, < and >; in attributes quotation marks, too.
std::string EscapeXml(std::string_view text);
std::string EscapeXmlAttribute(std::string_view text);

}  // namespace salient
