// HTML's references to characters: `&eacute;`, `&#233;`, `&#xe9;`.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace salient {

struct CharacterReference {
  size_t length = 0;  // of the bytes that it takes; 0: none that is known stands there
  std::string text;   // UTF-8
};

// What begins with the "&" at `at`. Known names are those of HTML 4, with their semicolon; others stay as they are.
CharacterReference ReadCharacterReference(std::string_view text, size_t at);

}  // namespace salient
