// One connection of an HttpListener, over TCP or TLS. Private to this folder.

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ssl/context.hpp"
#include "server/http/listener.h"
#include "server/http/message.h"

namespace salient {

// What a listener's connections share.
struct HttpShared {
  const HttpListenerOptions options;
  HttpHandler& handler;
  std::atomic<size_t> bodies_bytes = 0;  // held for requests that arrive
  std::atomic<bool> stopping = false;
};

// Belongs to the listener, which drops it once `gone` was called. All methods but Begin may be called from any thread.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void Begin() = 0;
  virtual void Close() = 0;                // at once
  virtual void CloseWhenIdle() = 0;        // at once unless a request is under way, else after its reply
  bool passed() const { return passed_; }  // the access check, with the request under way

 protected:
  std::atomic<bool> passed_ = false;
};

// `gone` is called once, when the connection is closed. `tls` null: plain TCP.
std::shared_ptr<HttpConnection> MakeHttpConnection(boost::asio::ip::tcp::socket socket, HttpShared& shared,
                                                   boost::asio::ssl::context* tls,
                                                   std::function<void(HttpConnection*)> gone);

}  // namespace salient
