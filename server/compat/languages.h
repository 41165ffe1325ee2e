// The languages of the server's models, and the language codes of other services.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/formats/registry.h"
#include "documents/language.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// Of a request, as the models name them.
struct LanguageChoice {
  std::string source, target;
  std::vector<DetectedLanguage> detected;  // empty where the request named the source

  // The text is in the target language already, and stays as it is. No model has the same language as both.
  bool is_unchanged() const { return source == target; }
};

// Whether a text is long enough to believe which language was detected. CLD2 calls single words reliable, and takes
// "Tablet" for Norwegian. Digits are not counted, nor are tags of text with markup.
bool IsLongText(std::string_view text, bool markup);

class Languages {
 public:
  // Of the models, or, where `model` is not empty, of that one alone.
  explicit Languages(const v1::ListModelsResponse& models, std::string_view model = "");

  const std::set<std::pair<std::string, std::string>>& pairs() const { return pairs_; }  // source, target
  std::vector<std::string> sources() const;
  std::vector<std::string> targets() const;
  std::vector<std::string> TargetsOf(const std::string& source) const;

  // `source` and `target` in any case, with "-" or "_"; a regional variant of a language is that language, and the
  // other way round. Without a source the text is looked at; where that leaves a doubt, as with a few words, it is the
  // only source of the target. If no model has this source for the target, and both are the same language, the text is
  // unchanged; the target may then be one that is only a source. INVALID_ARGUMENT says which language is not there.
  absl::StatusOr<LanguageChoice> Choose(const std::string& source, const std::string& target, std::string_view text,
                                        bool markup) const;
  // The same of a document. What is looked at is its content, unless the format is binary. INVALID_ARGUMENT also if it
  // is in the target language already.
  absl::StatusOr<LanguageChoice> Choose(const std::string& source, const std::string& target, const Format& format,
                                        std::string_view content) const;

 private:
  std::set<std::pair<std::string, std::string>> pairs_;
};

// "German" of "de"; the language of names is `in`, English where that is not known.
std::string LanguageName(const std::string& code, const std::string& in = "en");

}  // namespace salient
