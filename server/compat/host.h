// What the compatible APIs need from the server. They have no access to engines: a request of such an API becomes a
// TranslateDocumentRequest and is admitted like every other call.
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

  // The caller. `key` is the API key from the place where this API has it; empty if there is none. UNAUTHENTICATED says
  // what is wrong.
  virtual absl::StatusOr<CallInfo> Identify(const HttpRequest& request, const std::string& key) = 0;

  // If it returns OK, `result` is called exactly once; otherwise never. The function that it returns cancels the
  // translation.
  virtual absl::StatusOr<std::function<void()>> Start(const v1::TranslateDocumentRequest& request, const CallInfo& call,
                                                      Listener listener) = 0;

  virtual v1::ListModelsResponse Models() const = 0;
};

}  // namespace salient
