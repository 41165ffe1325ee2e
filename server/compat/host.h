// What a compatible API needs of the server. It knows nothing of engines: a request of such an API becomes a
// TranslateDocumentRequest and goes in by the same door as every other call.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "salient/v1/translation.pb.h"
#include "server/admission/client.h"
#include "server/http/message.h"

namespace salient {

class CompatHost {
 public:
  // Both are called from any thread, one call at a time, and must not block.
  struct Listener {
    std::function<void(const v1::Progress&)> progress;  // may be empty
    std::function<void(absl::StatusOr<v1::TranslateDocumentResponse>)> result;
  };

  virtual ~CompatHost() = default;

  // Whose call it is; `key` is what the API's own place for keys holds, empty if nothing. UNAUTHENTICATED says what is
  // wrong with it.
  virtual absl::StatusOr<CallInfo> Identify(const HttpRequest& request, const std::string& key) = 0;

  // After OK, and only then, `result` is called once. What is returned cancels the translation.
  virtual absl::StatusOr<std::function<void()>> Start(const v1::TranslateDocumentRequest& request, const CallInfo& call,
                                                      Listener listener) = 0;

  virtual v1::ListModelsResponse Models() const = 0;
};

}  // namespace salient
