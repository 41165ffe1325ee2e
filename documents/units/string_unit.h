// Units of formats whose text is in strings: JSON, YAML, and the messages of PO.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "documents/patch.h"
#include "documents/units/inline_spans.h"

namespace salient {

// Makes a unit of the decoded string `value`, with tags and placeholders as markers. HTML references ("&nbsp;") are
// characters of its text, which a translation spells as the string does. A changed translation replaces `place`,
// encoded as a whole by `encode`. False if there is nothing to translate, or what is there is no text. Elements whose
// `lang` is another language than `source_language` are kept; empty: it is not known.
bool MakeStringUnit(std::string_view value, ByteRange place, const KeptTerms& keep_terms,
                    std::function<std::string(const std::string&)> encode, PlacedUnit* unit,
                    const std::string& source_language = "");

// Whether a string in data is an identifier, a path or similar, not text: one word with characters or capitals that
// words do not have ("user_id", "img/logo.png", "v1.2", "camelCase"). Tags and placeholders do not count, and neither
// does what labels have ("Loading...", "Yes/No", "[Required]", "<b>Warning</b>", "Welcome,{{name}}!").
bool LooksLikeCode(std::string_view value);

}  // namespace salient
