// The texts of one request, each translated as a document of its own, some at once.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/workers.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/client.h"
#include "server/compat/host.h"
#include "server/compat/languages.h"

namespace salient {

enum class Markup { kNone, kHtml, kXml };

constexpr size_t kMostTexts = 1024;  // of a request
constexpr int kTextsAtOnce = 16;     // of a request, in the engine
// Of the controls of all texts of a request: each text has them with it.
constexpr size_t kMostControlBytes = 16 << 20;

// The texts of a request, as requests of ours.
struct TextRequests {
  std::vector<LanguageChoice> languages;  // of each text
  std::vector<v1::TranslateDocumentRequest> requests;
  int64_t characters = 0;  // in all
};

// One request for each text: `controls` with the text as its document. `source` and `target` as Languages::Choose takes
// them, and its errors. A text that is in the target language already has it as its source language, too. Without a
// source each long text is looked at by itself, and all short ones together. INVALID_ARGUMENT if there are too many
// texts, or too many for so large controls.
absl::StatusOr<TextRequests> MakeTextRequests(const v1::ListModelsResponse& models,
                                              const v1::TranslateDocumentRequest& controls, const std::string& source,
                                              const std::string& target, const std::vector<std::string>& texts,
                                              Markup markup);

// What is translated: the text, or the content.
const std::string& TranslatedText(const v1::TranslateDocumentResponse& response);

// Unicode characters of a text, which is what these services count.
int64_t CountCharacters(std::string_view text);

// Calls `done` once: with one response for each request, in the same order, or with the first failure; then the other
// translations are cancelled. A request with an empty text gets an empty response, and one whose source and target
// language are the same gets its text; neither is translated. The tokens of all texts are taken from the client's
// allowance at once, and if it is used up the call is refused before the first text. If the engine has no room for a
// text, or the client may have no more documents at once, the text waits until another text of the same call is
// finished; the call is refused only if none is running, or if there is no room to hold its texts until it is done.
// Returns a function that cancels. `workers` and `host` must live until `done` was called. While `done` keeps the
// permit the texts and responses count as the client's; null: after a failure.
using TextsDone =
    std::function<void(absl::StatusOr<std::vector<v1::TranslateDocumentResponse>>, std::unique_ptr<Admission::Permit>)>;
std::function<void()> TranslateTexts(CompatHost& host, Workers& workers, const CallInfo& call,
                                     std::vector<v1::TranslateDocumentRequest> requests, TextsDone done);

}  // namespace salient
