#include "engine/model_card.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kMaxDescriptionBytes = 4096;  // a reply about all models has the description of each

}  // namespace

std::string Description(const std::string& card) {
  std::istringstream lines(card);
  std::string line, paragraph;
  while (std::getline(lines, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') {
      if (!paragraph.empty()) break;
      continue;
    }
    absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
  }
  if (FirstInvalidText(paragraph).has_value()) return "";
  return std::string(Utf8Prefix(paragraph, kMaxDescriptionBytes));
}

}  // namespace salient
