// Words with markers in them, such as "H2O" of "H<sub>2</sub>O".

#pragma once

#include <optional>
#include <string_view>

#include "documents/markers/alignment.h"
#include "documents/markup.h"

namespace salient {

// The alignment with a word for each part of a source word in which markers stand, if the translation has the same word
// or one that is such a part: then the markers go between the same parts of it. None if it has no such word.
std::optional<Alignment> WithDividedWords(const Unit& unit, std::string_view translation, const Alignment& alignment);

}  // namespace salient
