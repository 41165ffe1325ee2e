// Functions that the Office Open XML formats share.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/patch.h"
#include "documents/syntax/xml_events.h"

namespace salient {

// The prefix of a namespace in its transitional or its strict spelling.
std::optional<std::string> PrefixOfEither(std::string_view bytes, const std::vector<XmlEvent>& events,
                                          std::string_view transitional, std::string_view strict);

// `xml` without all empty elements `name`: `<w:lang w:val="en-US"/>`.
std::string WithoutElement(std::string_view xml, const std::string& name);
// The range of an attribute with the space before it; `value` is that of its value (FindAttribute).
ByteRange WholeAttribute(std::string_view bytes, ByteRange value, std::string_view name);
// A start tag without an attribute.
std::string WithoutAttribute(std::string tag, const std::string& name);

// Edits that set the language attributes of elements `element` (empty: all elements) from the source to the target
// language. None if either language is unknown.
std::vector<Edit> LanguageEdits(std::string_view bytes, const std::vector<XmlEvent>& events,
                                const ParseOptions& options, std::string_view element, std::string_view attribute);

}  // namespace salient
