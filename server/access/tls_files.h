// The server's certificate, its key, and the authority of client certificates, as the HTTPS port presents them.
//
// The files are read again before every handshake, because certificates are renewed while a server runs. A file that
// has become unreadable or invalid, or a certificate and a key that do not fit each other, such as while one of them is
// replaced, changes nothing: connections get the previous contents, and the log says so once.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct ssl_ctx_st;     // OpenSSL's SSL_CTX
struct ssl_st;         // SSL
struct x509_store_st;  // X509_STORE

namespace salient {

class TlsFiles {
 public:
  struct Paths {
    std::string certificate;  // PEM, the server's own certificate first
    std::string key;          // PEM, the private key of it
    std::string client_ca;    // PEM, the authority of client certificates; empty: clients need none
  };

  // INVALID_ARGUMENT names the flag, the file and the error.
  static absl::StatusOr<std::unique_ptr<TlsFiles>> Open(Paths paths);

  // Sets up the TLS context of a port: it presents the certificate, and requests, but does not require, the client's.
  // This object must outlive the context.
  void SetUp(ssl_ctx_st& context);

 private:
  explicit TlsFiles(Paths paths) : paths_(std::move(paths)) {}

  static int BeforeHandshake(ssl_st* connection, void* files);
  absl::Status Read();
  void Present(ssl_st& connection);

  const Paths paths_;
  std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> pair_;  // holds the certificate, its chain and its key
  std::shared_ptr<x509_store_st> authority_;
  std::string complaint_;  // of the last reading, which the log has; empty: none
};

}  // namespace salient
