// Words with markers in them, such as "H2O" of "H<sub>2</sub>O".

#pragma once

#include <optional>
#include <string_view>

#include "documents/markers/alignment.h"
#include "documents/markup.h"

namespace salient {

// The alignment with a word for each part of a source word in which markers stand, if a translation of the word has the
// same parts: then the markers go between these. It is the same word or one of the parts; or it has another word beside
// the same parts without letters, such as "Haus1" for "house<sup>1</sup>". Other source words stay one. None if there
// is nothing to divide.
std::optional<Alignment> WithDividedWords(const Unit& unit, std::string_view translation, const Alignment& alignment);

}  // namespace salient
