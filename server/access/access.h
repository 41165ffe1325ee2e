// Access control: TLS certificates for both ports, and API keys.
//
// The files are read again when they change, because certificates are renewed and keys replaced while a server runs. A
// new connection gets the current certificate, and a new call, or document of a stream, is checked against the current
// keys. If a file becomes unreadable or invalid, the log says so, and the previous contents hold.
//
// Health and reflection need no key, and /healthz, /readyz and /metrics need neither key nor client certificate, so
// that probes of the platform work. On the gRPC port every connection needs the client certificate, if one is required.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "server/admission/client.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace salient {

struct AccessOptions {
  std::string tls_certificate;  // PEM file, the server's own certificate first; empty: no TLS
  std::string tls_key;          // PEM file of its private key
  std::string tls_client_ca;    // PEM file of the CA of client certificates; empty: clients need none
  std::string api_keys;         // file (admission/key_ring.h); empty: calls need none
};

class KeyRing;
class TlsFiles;

class Access {
 public:
  Access();  // no TLS, no keys
  ~Access();

  // INVALID_ARGUMENT names the flag, the file and the error.
  static absl::StatusOr<std::shared_ptr<const Access>> Open(const AccessOptions& options);

  bool encrypted() const { return !options_.tls_certificate.empty(); }
  bool asks_for_certificate() const { return !options_.tls_client_ca.empty(); }
  bool asks_for_key() const { return keys_ != nullptr; }

  // Null without TLS.
  std::shared_ptr<grpc::ServerCredentials> GrpcCredentials() const;

  // Sets up the TLS context of an HTTPS port (tls_files.h), with TLS only. This object must outlive the context.
  void SetUp(ssl_ctx_st& context) const;

  // The credentials of a call; each may be empty.
  struct Credentials {
    std::string_view authorization, api_key;  // headers: "Bearer KEY", and the plain key
    std::string_view certificate_subject, address;
  };
  // The client of a call. UNAUTHENTICATED names the headers that are accepted.
  absl::StatusOr<Client> Identify(const Credentials& credentials) const;

 private:
  AccessOptions options_;
  std::unique_ptr<TlsFiles> tls_;
  std::unique_ptr<KeyRing> keys_;
};

}  // namespace salient
