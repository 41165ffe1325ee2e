// HTML character references: `&eacute;`, `&#233;`, `&#xe9;`.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace salient {

struct CharacterReference {
  size_t length = 0;  // number of bytes; 0: not a reference
  std::string text;   // UTF-8
};

// Reads the reference that begins with the "&" at `at`, with a semicolon. Known names are those of HTML 4.
CharacterReference ReadCharacterReference(std::string_view text, size_t at);

// The same as browsers do it: numbers and names of Latin-1 need no semicolon. If only a browser knows what the bytes
// stand for, such as "&check;" or "&#150;", `text` is empty, and they must be copied.
CharacterReference ReadHtmlReference(std::string_view text, size_t at, bool in_attribute);

}  // namespace salient
