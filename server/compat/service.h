// The API of one service: its paths, where it has API keys, the format of its errors.

#pragma once

#include <functional>
#include <string_view>

#include "absl/status/status.h"
#include "server/http/message.h"

namespace salient {

// Thread safety: all methods may be called from any thread.
class CompatService {
 public:
  virtual ~CompatService() = default;

  virtual bool Serves(std::string_view path) const = 0;

  // Called when the header of a request has arrived, before its body is read: OK, or the reason to refuse it.
  virtual absl::Status Admit(const HttpRequest& request) = 0;

  // Whether the request only fetches a document that was translated before. Such requests are allowed while the server
  // drains.
  virtual bool IsDownload(const HttpRequest& request) const = 0;

  // As HttpHandler::Handle; called for admitted requests only.
  virtual std::function<void()> Handle(HttpRequest request, HttpHandler::Reply reply) = 0;

  // The error in the format of this service.
  virtual HttpResponse Error(const absl::Status& status) const = 0;
};

}  // namespace salient
