// Who may connect, and how: certificates for both ports, and API keys.
//
// The files are read again when they change, since certificates are renewed and keys replaced while a server runs: a
// new connection gets the certificate of the moment, a new call is held against the keys of the moment. A file that has
// become unreadable or wrong changes nothing and is told of in the log.
//
// Health, reflection, /healthz, /readyz and /metrics ask for neither key nor client certificate on the HTTP port, so
// that the platform's probes get through; on the gRPC port a client certificate is asked of every connection.
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
  std::string tls_certificate;  // PEM file, the server's own first; empty: no TLS
  std::string tls_key;          // PEM file of its private key
  std::string tls_client_ca;    // PEM file of who signs clients' certificates; empty: clients need none
  std::string api_keys;         // file (admission/key_ring.h); empty: calls need none
};

class KeyRing;

class Access {
 public:
  Access();  // open to everybody, without encryption
  ~Access();

  // INVALID_ARGUMENT names the flag, the file and what is wrong with it.
  static absl::StatusOr<std::shared_ptr<const Access>> Open(const AccessOptions& options);

  bool encrypted() const { return !options_.tls_certificate.empty(); }
  bool asks_for_certificate() const { return !options_.tls_client_ca.empty(); }
  bool asks_for_key() const { return keys_ != nullptr; }

  // Null without TLS.
  std::shared_ptr<grpc::ServerCredentials> GrpcCredentials() const;

  // Makes an HTTPS port's context present the certificate, and ask for, but not insist on, the client's. This object
  // must outlive the context.
  bool SetUp(ssl_ctx_st& context) const;

  // What a call brought, each of which may be empty.
  struct Credentials {
    std::string_view authorization, api_key;  // headers: "Bearer KEY", and the key alone
    std::string_view certificate_subject, address;
  };
  // Whose call it is. UNAUTHENTICATED says which headers are looked at.
  absl::StatusOr<Client> Identify(const Credentials& credentials) const;

 private:
  AccessOptions options_;
  std::unique_ptr<KeyRing> keys_;
};

}  // namespace salient
