// Units of formats whose text is strings: of JSON and YAML, and the messages of PO.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "documents/inline_spans.h"
#include "documents/patch.h"

namespace salient {

// A unit of the decoded string `value`, with tags and placeholders as markers. A changed translation is written to
// `place` as `encode` makes it of the whole string. False if there is nothing to translate.
bool MakeStringUnit(std::string_view value, ByteRange place, const std::vector<std::string>& keep_terms,
                    std::function<std::string(const std::string&)> encode, PlacedUnit* unit);

// Whether a string among data is a name, a path or the like and no text: one word with a sign in it that words have
// not ("user_id", "img/logo.png", "v1.2", "camelCase").
bool LooksLikeCode(std::string_view value);

}  // namespace salient
