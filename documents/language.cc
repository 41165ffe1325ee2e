#include "documents/language.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "cld2/public/compact_lang_det.h"
#include "cld2/public/encodings.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kMostBytes = 16 << 10;

// CLD2 has codes that BCP 47 has replaced.
std::string CodeOf(CLD2::Language language) {
  const std::string code = CLD2::LanguageCode(language);
  if (code == "iw") return "he";
  if (code == "jw") return "jv";
  return code;
}

std::vector<DetectedLanguage> Ask(std::string_view text, bool markup, int flags) {
  const CLD2::CLDHints hints = {nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language languages[3];
  int percents[3], text_bytes = 0, valid_bytes = 0;
  double scores[3];
  bool is_reliable = false;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/!markup, &hints,
                                          flags, languages, percents, scores, /*resultchunkvector=*/nullptr,
                                          &text_bytes, &is_reliable, &valid_bytes);
  std::vector<DetectedLanguage> found;
  for (int i = 0; i < 3; ++i) {
    if (languages[i] == CLD2::UNKNOWN_LANGUAGE || percents[i] <= 0) continue;
    found.push_back({CodeOf(languages[i]), percents[i] / 100.0, is_reliable});
  }
  return found;
}

}  // namespace

std::string PrimaryLanguage(std::string_view tag) {
  return absl::AsciiStrToLower(std::string(tag.substr(0, tag.find_first_of("-_"))));
}

bool AreSameLanguage(std::string_view tag, std::string_view other) {
  return PrimaryLanguage(tag) == PrimaryLanguage(other);
}

std::vector<DetectedLanguage> DetectLanguages(std::string_view text, bool markup) {
  text = Utf8Prefix(text, kMostBytes);
  if (const auto invalid = FirstInvalidText(text)) text = text.substr(0, *invalid);
  std::vector<DetectedLanguage> found = Ask(text, markup, /*flags=*/0);
  if (found.empty()) {
    found = Ask(text, markup, CLD2::kCLDFlagBestEffort);  // an answer also for few words
    for (DetectedLanguage& one : found) one.is_reliable = false;
  }
  return found;
}

}  // namespace salient
