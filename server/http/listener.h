// An HTTP/1.1 listener with bounds on all resources that a client can use:
//
//   header      16 KiB, within `header_timeout` after the connection opened or the last reply
//   access      the handler may refuse a request after its header; no byte of the body is stored before that
//   body        `max_body_bytes`, received and decompressed, for every framing and coding, checked while it is read;
//               all bodies of the listener together `max_bodies_bytes`, of which a client may hold a share
//               (body_memory.h); otherwise 503
//   time        `request_timeout` for receiving a whole request, or `header_timeout` for a body of a sender whom its
//               header does not make known; `request_timeout` plus a second for every 64 KiB for sending the reply
//   connections `max_connections`; if all are in use, the oldest one that has not passed the access check is closed for
//               a new one; if all have passed it, the new one is closed. It has passed while a request is received or
//               answered whose header made its sender known, and while the handler has a request of any other sender.
//               It has not while it is idle, sends a header, or sends a body that must first tell who sends it
//
// If a client closes its connection, or its sending half, before it has the reply, the request is cancelled.
//
// Thread safety: Start, Leave and Stop from one thread. The handler is called from `threads` threads.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/http/message.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace salient {

struct HttpListenerOptions {
  std::string flag;     // "--http", for messages
  std::string address;  // HOST:PORT; port 0: any free port
  int threads = 2;
  int max_connections = 512;
  absl::Duration max_connection_age = absl::InfiniteDuration();  // the next reply on an older one is its last
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration request_timeout = absl::Seconds(60);
  size_t max_body_bytes = 1 << 20;
  size_t max_bodies_bytes = 8 << 20;
  std::function<void(ssl_ctx_st&)> set_up_tls;  // empty: plain HTTP
};

class HttpListener {
 public:
  // The handler must outlive the listener.
  HttpListener(const HttpListenerOptions& options, HttpHandler& handler);
  ~HttpListener();  // stops

  // Returns the port. INVALID_ARGUMENT and UNAVAILABLE name the flag.
  absl::StatusOr<int> Start();

  // From now on every reply is the last one on its connection, so that its client finds another server.
  void Leave();
  // Accepts no more connections, closes idle ones, waits up to two seconds for replies in progress, then closes all.
  void Stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace salient
