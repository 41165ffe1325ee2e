// Characters that Excel spells by their number: "_x000D_" is a carriage return, and "_x005F_x000D_" the text "_x000D_".

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace salient {

struct CharacterEscape {
  size_t length = 0;  // bytes of its spelling; 0: there is none
  std::string text;
};

// The escape at `at`. One of a character that XML cannot have is none, except for a line break.
CharacterEscape ReadCharacterEscape(std::string_view text, size_t at);

std::string WithoutCharacterEscapes(std::string_view text);

// The text with escapes where it needs them.
std::string WithCharacterEscapes(std::string_view text);

}  // namespace salient
