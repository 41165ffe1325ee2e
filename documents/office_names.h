// What the formats of Office Open XML have in common.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "documents/patch.h"
#include "documents/xml_events.h"

namespace salient {

// The prefix of a namespace in its transitional or its strict spelling.
std::optional<std::string> PrefixOfEither(std::string_view bytes, const std::vector<XmlEvent>& events,
                                          std::string_view transitional, std::string_view strict);

// `xml` without the empty element `name`, wherever it stands: `<w:lang w:val="en-US"/>`.
std::string WithoutElement(std::string xml, const std::string& name);
// A start tag without an attribute.
std::string WithoutAttribute(std::string tag, const std::string& name);

// Sets attributes that tell the language, of elements `element` (or of all, if empty), to the target language where
// they tell the source's. Nothing if either language is not known.
std::vector<Edit> LanguageEdits(std::string_view bytes, const std::vector<XmlEvent>& events,
                                const ParseOptions& options, std::string_view element, std::string_view attribute);

}  // namespace salient
