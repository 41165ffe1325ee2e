// Words of a text, for the guard: fast, and the same in all languages.

#pragma once

#include <string_view>
#include <vector>

namespace salient {

enum class WordKind { kLetters, kDigits, kMixed, kOther };

struct GuardWord {
  std::string_view text;
  WordKind kind = WordKind::kOther;
  // A word of the language, as far as that can be told: it begins with a letter that is no capital, so it is no name in
  // languages that write names with capitals, and no punctuation joins it to others, as in `a-b`, `<a>` or `a.b`.
  bool is_plain = false;
};

// Runs of letters, marks and digits; every ideograph, and every other character that is no white space, by itself. The
// words point into `text`, which is UTF-8.
std::vector<GuardWord> GuardWords(std::string_view text);

}  // namespace salient
