// Attributes of HTML that users see or hear: `alt`, `title`, the labels of buttons and similar.

#pragma once

#include <string_view>
#include <vector>

#include "documents/patch.h"
#include "documents/syntax/html_tokens.h"
#include "documents/units/unit_builder.h"

namespace salient {

// Adds a unit for each such attribute of a start tag, whose ranges are those of `bytes`, with rules as for the text.
void AddAttributeUnits(std::string_view bytes, const HtmlToken& start, UnitRules rules, std::vector<PlacedUnit>* units);

}  // namespace salient
