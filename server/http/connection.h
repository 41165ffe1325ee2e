// One connection of an HttpListener, over TCP or TLS. Private to this folder.

#pragma once

#include <atomic>
#include <memory>

#include "boost/asio/ip/tcp.hpp"
#include "boost/asio/ssl/context.hpp"
#include "server/http/body_memory.h"
#include "server/http/listener.h"
#include "server/http/message.h"

namespace salient {

// State that all connections of a listener share.
struct HttpShared {
  const HttpListenerOptions options;
  HttpHandler& handler;
  BodyMemory bodies{options.max_bodies_bytes};  // that are being received
  std::atomic<bool> leaving = false, stopping = false;
};

// Owned by the listener, which releases it after `gone` is called. All methods except Begin may be called from any
// thread.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void Begin() = 0;
  virtual void Close() = 0;                // at once
  virtual void CloseWhenIdle() = 0;        // at once, or after the reply to a request in progress
  bool passed() const { return passed_; }  // whether it is not closed for a new connection (listener.h)

 protected:
  std::atomic<bool> passed_ = false;
};

// `gone` is called once, when the connection is closed. `tls` null: plain TCP.
std::shared_ptr<HttpConnection> MakeHttpConnection(boost::asio::ip::tcp::socket socket, HttpShared& shared,
                                                   boost::asio::ssl::context* tls,
                                                   std::function<void(HttpConnection*)> gone);

}  // namespace salient
