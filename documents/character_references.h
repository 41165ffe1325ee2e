// HTML character references: `&eacute;`, `&#233;`, `&#xe9;`.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace salient {

struct CharacterReference {
  size_t length = 0;  // number of bytes; 0: not a known reference
  std::string text;   // UTF-8
};

// Reads the reference that begins with the "&" at `at`. Known names are those of HTML 4, with a semicolon.
CharacterReference ReadCharacterReference(std::string_view text, size_t at);

}  // namespace salient
