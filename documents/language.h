// Languages: of a tag, and which one a text is in, by CLD2.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace salient {

// "pt" of "PT-br" and of "pt_BR".
std::string PrimaryLanguage(std::string_view tag);

// Whether two tags have the same primary language.
bool AreSameLanguage(std::string_view tag, std::string_view other);

struct DetectedLanguage {
  std::string language;      // BCP 47, such as "en" or "zh-Hant"
  double confidence = 0;     // the share of the text that is in it, 0 to 1
  bool is_reliable = false;  // false where the text is too short, or of several languages
};

// The most likely first, at most three; none where there is no language to be seen, as in "123". Looks at the first 16
// KiB. `markup`: tags are not text.
std::vector<DetectedLanguage> DetectLanguages(std::string_view text, bool markup);

}  // namespace salient
