// A port that speaks HTTP/1.1, bounded in every way that a stranger could stretch it.
//
//   header      16 KiB, and `header_timeout` from the connection's opening or the last reply
//   access      the handler may refuse once the header is there; no byte of the body is kept before that
//   body        `max_body_bytes`, received and unpacked, for every framing and coding, while it is read; all bodies of
//               the listener together `max_bodies_bytes` (503 beyond)
//   time        `request_timeout` for a whole request to arrive; the same, and a second for every 64 KiB, for the reply
//               to be taken
//   connections `max_connections`; where they are all taken, the oldest of those that have not passed the access check
//               (idle, or still sending a header) makes room for a new one; if all have, the new one is closed
//
// A client that closes its connection, or its sending half, before it has its reply counts as gone.
//
// Thread safety: Start and Stop from one thread. The handler is called from `threads` threads.

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
  std::string address;  // HOST:PORT; any free port for 0
  int threads = 2;
  int max_connections = 512;
  absl::Duration header_timeout = absl::Seconds(10);
  absl::Duration request_timeout = absl::Seconds(60);
  size_t max_body_bytes = 1 << 20;
  size_t max_bodies_bytes = 8 << 20;
  // Sets up HTTPS; empty: plain HTTP. False is a failure.
  std::function<bool(ssl_ctx_st&)> set_up_tls;
};

class HttpListener {
 public:
  // The handler outlives the listener.
  HttpListener(const HttpListenerOptions& options, HttpHandler& handler);
  ~HttpListener();  // stops

  // Returns the port. INVALID_ARGUMENT and UNAVAILABLE name the flag.
  absl::StatusOr<int> Start();

  // Takes no more; closes idle connections, gives replies under way two seconds to go out, then closes all.
  void Stop();

  int connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace salient
