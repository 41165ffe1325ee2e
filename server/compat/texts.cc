#include "server/compat/texts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

// Says which of several texts is wrong, since a request may have many.
absl::Status WithPlace(size_t i, size_t texts, const absl::Status& status) {
  if (texts == 1) return status;
  return absl::InvalidArgumentError(absl::StrCat("text ", i + 1, " of ", texts, ": ", status.message()));
}

bool StaysAsItIs(const v1::TranslateDocumentRequest& request) {
  const bool is_empty = request.document().text().empty() && request.document().content().empty();
  return is_empty || request.source_language() == request.target_language();
}

class Texts : public std::enable_shared_from_this<Texts> {
 public:
  Texts(CompatHost& host, Workers& workers, CallInfo call, std::vector<v1::TranslateDocumentRequest> requests,
        std::unique_ptr<Admission::Permit> held, TextsDone done)
      : host_(host),
        workers_(workers),
        call_(std::move(call)),
        requests_(std::move(requests)),
        done_(std::move(done)),
        held_(std::move(held)),
        responses_(requests_.size()) {}

  void Begin() {
    workers_.Post([self = shared_from_this()] { self->StartSome(); });
  }

  void Cancel() { End(absl::CancelledError("cancelled by the client")); }

 private:
  // In a worker: reading a text with markup takes a while. Only one at a time starts texts.
  void StartSome() {
    for (;;) {
      size_t i = 0;
      bool others_run = false;
      {
        std::lock_guard lock(mutex_);
        if (ended_ || starting_ || running_ == kTextsAtOnce || next_ == requests_.size()) break;
        i = next_++;
        if (StaysAsItIs(requests_[i])) {
          responses_[i] = Unchanged(requests_[i]);
          held_->Grow(static_cast<int64_t>(responses_[i].ByteSizeLong()));
          continue;
        }
        others_run = running_++ > 0;
        starting_ = true;
      }
      CompatHost::Listener listener;
      listener.result = [self = shared_from_this(), i](absl::StatusOr<v1::TranslateDocumentResponse> result,
                                                       std::unique_ptr<Admission::Permit> permit) {
        permit.reset();  // before the next text is started: the client may be allowed one document only
        self->Take(i, std::move(result));
      };
      const auto when_full = others_run ? CompatHost::WhenFull::kWait : CompatHost::WhenFull::kRefuse;
      auto cancel = host_.Start(requests_[i], call_, std::move(listener), when_full);
      if (!Started(i, std::move(cancel), when_full)) return;
    }
    EndIfDone();
  }

  // False: there is no room now, and the end of another text will start this one.
  bool Started(size_t i, absl::StatusOr<std::function<void()>> cancel, CompatHost::WhenFull when_full) {
    absl::Status failure;
    {
      std::lock_guard lock(mutex_);
      starting_ = false;
      if (cancel.ok()) {
        if (!ended_) {
          cancels_[i] = *std::move(cancel);
          return true;
        }
      } else {
        --running_;
        const bool waits = running_ > 0 || when_full == CompatHost::WhenFull::kWait;
        if (absl::IsResourceExhausted(cancel.status()) && waits && !ended_) {
          next_ = i;
          return running_ == 0;  // the others have ended meanwhile: it is tried once more
        }
        failure = OfText(i, cancel.status());
      }
    }
    if (failure.ok()) {
      (*cancel)();  // what ended all was quicker
    } else {
      End(failure);
    }
    return true;
  }

  void Take(size_t i, absl::StatusOr<v1::TranslateDocumentResponse> result) {
    if (!result.ok()) return End(OfText(i, result.status()));
    {
      std::lock_guard lock(mutex_);
      --running_;
      held_->Grow(static_cast<int64_t>(result->ByteSizeLong()));
      responses_[i] = *std::move(result);
    }
    Begin();
  }

  void EndIfDone() {
    std::vector<v1::TranslateDocumentResponse> responses;
    std::unique_ptr<Admission::Permit> held;
    {
      std::lock_guard lock(mutex_);
      if (ended_ || starting_ || running_ > 0 || next_ < requests_.size()) return;
      ended_ = true;
      responses = std::move(responses_);
      held = std::move(held_);
    }
    done_(std::move(responses), std::move(held));
  }

  void End(const absl::Status& status) {
    std::map<size_t, std::function<void()>> cancels;
    {
      std::lock_guard lock(mutex_);
      if (ended_) return;
      ended_ = true;
      cancels = std::move(cancels_);
    }
    for (const auto& [i, cancel] : cancels) cancel();
    done_(status, nullptr);
  }

  absl::Status OfText(size_t i, const absl::Status& status) const {
    const bool is_of_text = absl::IsInvalidArgument(status) && absl::StartsWith(status.message(), "document.");
    return is_of_text ? WithPlace(i, requests_.size(), status) : status;
  }

  static v1::TranslateDocumentResponse Unchanged(const v1::TranslateDocumentRequest& request) {
    v1::TranslateDocumentResponse response;
    response.set_text(request.document().text());
    response.set_content(request.document().content());
    return response;
  }

  CompatHost& host_;
  Workers& workers_;
  const CallInfo call_;
  const std::vector<v1::TranslateDocumentRequest> requests_;
  const TextsDone done_;

  std::mutex mutex_;
  std::unique_ptr<Admission::Permit> held_;  // for the requests and responses; null: `done_` has it
  std::vector<v1::TranslateDocumentResponse> responses_;
  std::map<size_t, std::function<void()>> cancels_;
  size_t next_ = 0;
  int running_ = 0;
  bool starting_ = false, ended_ = false;
};

// `controls` with the text as its document.
v1::TranslateDocumentRequest TextRequest(const v1::TranslateDocumentRequest& controls, const LanguageChoice& languages,
                                         const std::string& text, Markup markup) {
  v1::TranslateDocumentRequest request = controls;
  request.set_source_language(languages.source);
  request.set_target_language(languages.target);
  v1::Document& document = *request.mutable_document();
  if (markup == Markup::kNone) {
    document.set_text(text);
  } else {
    document.set_content(text);
    document.set_mime_type(markup == Markup::kHtml ? "text/html" : "application/xml");
  }
  return request;
}

// Before a copy of the controls is made for each text.
absl::Status CheckSizes(size_t texts, const v1::TranslateDocumentRequest& controls) {
  if (texts > kMostTexts) {
    return absl::InvalidArgumentError(absl::StrCat(texts, " texts; at most ", kMostTexts, " are taken at once"));
  }
  const size_t bytes = controls.SpaceUsedLong();
  if (texts * bytes <= kMostControlBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the controls (salient, a glossary, ignored tags) have ", bytes, " bytes, which with each of ", texts,
      " texts is more than ", kMostControlBytes, "; send fewer texts at once, or name a glossary of the server"));
}

int64_t BytesOf(const std::vector<v1::TranslateDocumentRequest>& requests) {
  int64_t bytes = 0;
  for (const v1::TranslateDocumentRequest& request : requests) bytes += static_cast<int64_t>(request.SpaceUsedLong());
  return bytes;
}

// As they are estimated at admission.
int64_t TokensOf(const std::vector<v1::TranslateDocumentRequest>& requests) {
  int64_t tokens = 0;
  for (const v1::TranslateDocumentRequest& request : requests) {
    const v1::Document& document = request.document();
    const auto bytes = static_cast<int64_t>(document.text().size() + document.content().size());
    if (!StaysAsItIs(request)) tokens += Admission::EstimateTokens(bytes);
  }
  return tokens;
}

}  // namespace

absl::StatusOr<TextRequests> MakeTextRequests(const v1::ListModelsResponse& models,
                                              const v1::TranslateDocumentRequest& controls, const std::string& source,
                                              const std::string& target, const std::vector<std::string>& texts,
                                              Markup markup) {
  if (absl::Status status = CheckSizes(texts.size(), controls); !status.ok()) return status;
  const Languages there(models, controls.model());
  const bool has_markup = markup != Markup::kNone;
  std::vector<bool> alone(texts.size());
  std::string others;  // a line each
  for (size_t i = 0; i < texts.size(); ++i) {
    alone[i] = source.empty() && IsLongText(texts[i], has_markup);
    if (!alone[i]) absl::StrAppend(&others, texts[i], "\n");
  }
  absl::StatusOr<LanguageChoice> of_others;
  if (!others.empty()) of_others = there.Choose(source, target, others, has_markup);
  if (!others.empty() && !of_others.ok()) {
    of_others = there.Choose(source, target, absl::StrJoin(texts, "\n"), has_markup);
  }
  TextRequests made;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto languages = alone[i] ? there.Choose(source, target, texts[i], has_markup) : of_others;
    if (!languages.ok()) return alone[i] ? WithPlace(i, texts.size(), languages.status()) : languages.status();
    made.requests.push_back(TextRequest(controls, *languages, texts[i], markup));
    made.languages.push_back(*std::move(languages));
    made.characters += CountCharacters(texts[i]);
  }
  return made;
}

const std::string& TranslatedText(const v1::TranslateDocumentResponse& response) {
  return response.content().empty() ? response.text() : response.content();
}

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !ContinuesCharacter(c); });
}

std::function<void()> TranslateTexts(CompatHost& host, Workers& workers, const CallInfo& info,
                                     std::vector<v1::TranslateDocumentRequest> requests, TextsDone done) {
  CallInfo call = info;
  if (const int64_t tokens = TokensOf(requests); tokens > 0) {
    auto reserved = host.Reserve(tokens, call);
    if (!reserved.ok()) {
      done(reserved.status(), nullptr);
      return nullptr;
    }
    call.reserved = *std::move(reserved);
  }
  auto held = host.Hold(BytesOf(requests), call);
  if (!held.ok()) {
    done(held.status(), nullptr);
    return nullptr;
  }
  auto texts =
      std::make_shared<Texts>(host, workers, std::move(call), std::move(requests), *std::move(held), std::move(done));
  texts->Begin();
  return [texts] { texts->Cancel(); };
}

}  // namespace salient
