// One service's API: what it answers to, where it takes keys, how it tells errors.

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

  // Of a request whose header has arrived and of whose body not one byte was read: OK, or why it is refused.
  virtual absl::Status Admit(const HttpRequest& request) = 0;

  // Whether the request only fetches what was translated before, which is possible also while the server drains.
  virtual bool IsDownload(const HttpRequest& request) const = 0;

  // As HttpHandler::Handle, of a request that was admitted.
  virtual std::function<void()> Handle(HttpRequest request, HttpHandler::Reply reply) = 0;

  // The error in the service's shape.
  virtual HttpResponse Error(const absl::Status& status) const = 0;
};

}  // namespace salient
