// Checks SentencePiece's map of character replacements, such as NFKC: "precompiled_charsmap".
//
//   size of the trie in bytes, 4 bytes | trie | replacements, each ended by a NUL         (all little endian)
//
// The trie is a double array (the format of Darts-clone: units of 32 bits) over the byte strings to be replaced; its
// values are offsets of replacements. The library walks the trie without bounds checks and stores up to 32 results in a
// fixed array. So the whole map must be checked before the library uses it.

#pragma once

#include <string>
#include <string_view>

namespace salient {

// Empty if the map is safe for any text: no walk leaves the trie, finds more than 32 values or is longer than 512
// bytes, and every value is the offset of a replacement of at most 64 bytes of UTF-8. Otherwise the error, such as "its
// trie refers to units that it does not have". O(units x 256) time.
std::string CheckCharsmap(std::string_view charsmap);

}  // namespace salient
