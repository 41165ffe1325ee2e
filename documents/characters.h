// What the characters of a text are.

#pragma once

#include <string>
#include <string_view>

#include "documents/markup.h"

namespace salient {

// As SplitDocument decides it (engine/text/document.h): fillers, such as U+3164, are letters that nobody sees.
bool HasLetter(std::string_view text);

// Whether there is nothing but ASCII white space.
bool IsBlank(std::string_view text);

// The text without what SplitDocument takes for white space at its ends; empty if there is nothing else.
ByteRange WithoutOuterSpace(std::string_view text);

// From the first letter or digit of a text to the last one; empty, at its end, if it has none.
ByteRange LettersAndDigits(std::string_view text);

// The text in one line: without outer space, control characters and bytes that are not UTF-8, and with a space for each
// run of white space that has a line break.
std::string OneLine(std::string_view text);

// The same with a space for each run of white space.
std::string SingleSpaces(std::string_view text);

}  // namespace salient
