// The API of one service: its paths, where it has API keys, the format of its errors.

#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/admission/client.h"
#include "server/http/message.h"

namespace salient {

// Thread safety: all methods may be called from any thread.
class CompatService {
 public:
  virtual ~CompatService() = default;

  virtual bool Serves(std::string_view path) const = 0;

  // Called when the header of a request has arrived, before its body is read: the caller, or the reason to refuse the
  // request. None: the header may be anybody's, because the key is in the body, or the request needs none.
  using Admitted = absl::StatusOr<std::optional<Client>>;
  virtual Admitted Admit(const HttpRequest& request) = 0;

  // Whether the request only fetches a document that was translated before. Such requests are allowed while the server
  // drains.
  virtual bool IsDownload(const HttpRequest& request) const = 0;

  // As HttpHandler::Handle; called for admitted requests only.
  std::function<void()> Handle(const HttpRequest& request, const HttpHandler::Reply& reply) {
    Result result = Route(request, reply);
    if (result.ok()) return *std::move(result);
    reply(Error(result.status()));
    return nullptr;
  }

  // The error in the format of this service.
  virtual HttpResponse Error(const absl::Status& status) const = 0;

 protected:
  using Result = absl::StatusOr<std::function<void()>>;  // a function that cancels; on failure no reply was sent yet

  virtual Result Route(const HttpRequest& request, const HttpHandler::Reply& reply) = 0;

  // As a request is admitted whose header must tell who calls.
  static Admitted CallerOf(absl::StatusOr<CallInfo> call) {
    if (!call.ok()) return call.status();
    return std::move(call->client);
  }

  // The result of a request whose response is known at once.
  static Result Answered(absl::StatusOr<HttpResponse> response, const HttpHandler::Reply& reply) {
    if (!response.ok()) return response.status();
    reply(*std::move(response));
    return nullptr;
  }
};

}  // namespace salient
