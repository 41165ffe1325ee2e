// What the compatible APIs need from the server. They have no access to engines: a request of such an API becomes a
// TranslateDocumentRequest and is admitted like every other call.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/admission.h"
#include "server/admission/client.h"
#include "server/http/message.h"

namespace salient {

// A glossary of the server's (--glossaries), or one that a client has made (glossary_uploads.h).
struct CompatGlossary {
  std::string id;                                // what a request names as its glossary
  std::string name;                              // for people
  std::string source_language, target_language;  // empty: any
  absl::Time created;
  int64_t terms = 0;
};

class CompatHost {
 public:
  // Both are called from any thread, one call at a time, and must not block.
  struct Listener {
    std::function<void(const v1::Progress&)> progress;  // may be empty
    // While the permit is kept the document counts as its client's. Null: it was not admitted.
    std::function<void(absl::StatusOr<v1::TranslateDocumentResponse>, std::unique_ptr<Admission::Permit>)> result;
  };

  virtual ~CompatHost() = default;

  // The caller. `key` is the API key from the place where this API has it; empty if there is none. UNAUTHENTICATED says
  // what is wrong.
  virtual absl::StatusOr<CallInfo> Identify(const HttpRequest& request, const std::string& key) = 0;

  // What becomes of a request for which there is no room now.
  enum class WhenFull {
    kRefuse,  // it is refused, which is logged and counted, and RESOURCE_EXHAUSTED has a retry delay
    kWait,    // RESOURCE_EXHAUSTED: the caller tries again
  };

  // If it returns OK, `result` is called exactly once; otherwise never. The function that it returns cancels the
  // translation.
  virtual absl::StatusOr<std::function<void()>> Start(const v1::TranslateDocumentRequest& request, const CallInfo& call,
                                                      Listener listener, WhenFull when_full = WhenFull::kRefuse) = 0;

  // Counts what a call holds beside its documents as its client's while the permit is kept. RESOURCE_EXHAUSTED, with a
  // retry delay, if there is no room for it.
  virtual absl::StatusOr<std::unique_ptr<Admission::Permit>> Hold(int64_t bytes, const CallInfo& call) = 0;

  // Takes the tokens of a call with several documents from its client's allowance at once: Start is then called with
  // them in CallInfo. Null: the client has no such limit. RESOURCE_EXHAUSTED, with a retry delay, if it is used up.
  virtual absl::StatusOr<std::shared_ptr<ReservedTokens>> Reserve(int64_t tokens, const CallInfo& call) = 0;

  // Counts and logs a request to translate that was refused before Start, Hold or Reserve, which do so themselves.
  virtual void TellRefused(const CallInfo& call, const absl::Status& status) = 0;

  virtual v1::ListModelsResponse Models() const = 0;

  // The server's own glossaries, by name.
  virtual std::vector<CompatGlossary> Glossaries() const = 0;
  // The terms of one of these, as lines of a source, a tab and its target.
  virtual absl::StatusOr<std::string> GlossaryTerms(const std::string& id) const = 0;
};

}  // namespace salient
