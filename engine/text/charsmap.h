// The map by which SentencePiece replaces characters, such as NFKC's: "precompiled_charsmap".
//
//   size of the trie in bytes, 4 bytes | trie | replacements, each ended by a NUL         (all little endian)
//
// The trie is a double array (the format of Darts-clone: units of 32 bits) over the byte strings to be replaced, and
// its values are offsets of replacements. The library walks it without a look at its bounds, and keeps what it finds in
// an array of 32: a map must be checked as a whole before it gets one.

#pragma once

#include <string>
#include <string_view>

namespace salient {

// Empty if the library can use the map on any text: no walk leaves the trie, comes by more than 32 values or goes on
// for more than 512 bytes, and every value is the offset of a replacement of at most 64 bytes of UTF-8. Otherwise what
// is wrong: "its trie refers to units that it does not have". O(units x 256) time.
std::string CheckCharsmap(std::string_view charsmap);

}  // namespace salient
