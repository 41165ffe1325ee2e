#include "server/access.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "server/admission/key_ring.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

constexpr unsigned kLookEverySeconds = 60;  // at certificates for gRPC

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// What OpenSSL complained of first, in its own words.
std::string Complaint() {
  const unsigned long code = ERR_peek_error();  // NOLINT: OpenSSL's type
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "not a PEM file that can be read" : reason;
}

absl::Status Wrong(const char* flag, const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": ", path, ": ", Complaint()));
}

absl::Status CheckFlags(const AccessOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError(options.tls_key.empty()
                                          ? "--tls-cert needs --tls-key, the file of its private key"
                                          : "--tls-key needs --tls-cert, the file of its certificate");
  }
  if (!options.tls_client_ca.empty() && options.tls_certificate.empty()) {
    return absl::InvalidArgumentError(
        "--tls-client-ca needs --tls-cert and --tls-key: without TLS there are no certificates");
  }
  return absl::OkStatus();
}

using Context = std::unique_ptr<SSL_CTX, FreeContext>;

// The server's certificate and its key, which fit each other.
absl::StatusOr<Context> ReadPair(const AccessOptions& options) {
  ERR_clear_error();
  Context context(SSL_CTX_new(TLS_server_method()));
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.tls_certificate.c_str()) != 1) {
    return Wrong("--tls-cert", options.tls_certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.tls_key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Wrong("--tls-key", options.tls_key);
  }
  return context;
}

// Reads the files as the ports will, to say now what would otherwise fail at every handshake.
absl::Status CheckFiles(const AccessOptions& options) {
  const absl::StatusOr<Context> pair = ReadPair(options);
  if (!pair.ok()) return pair.status();
  if (!options.tls_client_ca.empty() &&
      SSL_CTX_load_verify_locations(pair->get(), options.tls_client_ca.c_str(), nullptr) != 1) {
    return Wrong("--tls-client-ca", options.tls_client_ca);
  }
  return absl::OkStatus();
}

// Before every handshake: the files as they are now. Where they do not fit, such as while one of a pair is replaced,
// the connection keeps what the context has.
int UseFilesOfTheMoment(SSL* connection, void* argument) {
  const auto& options = *static_cast<const AccessOptions*>(argument);
  if (const absl::StatusOr<Context> pair = ReadPair(options); pair.ok()) {
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(pair->get(), &chain);
    SSL_use_cert_and_key(connection, SSL_CTX_get0_certificate(pair->get()), SSL_CTX_get0_privatekey(pair->get()), chain,
                         /*override=*/1);
  } else {
    spdlog::warn("{}", std::string(pair.status().message()));
  }
  if (!options.tls_client_ca.empty()) {
    X509_STORE* const store = X509_STORE_new();
    if (X509_STORE_load_file(store, options.tls_client_ca.c_str()) == 1) {
      SSL_set1_verify_cert_store(connection, store);
    } else {
      spdlog::warn("{}", std::string(Wrong("--tls-client-ca", options.tls_client_ca).message()));
    }
    X509_STORE_free(store);
  }
  return 1;
}

}  // namespace

Access::Access() = default;
Access::~Access() = default;

absl::StatusOr<std::shared_ptr<const Access>> Access::Open(const AccessOptions& options) {
  if (absl::Status status = CheckFlags(options); !status.ok()) return status;
  auto access = std::make_shared<Access>();
  access->options_ = options;
  if (access->encrypted()) {
    if (absl::Status status = CheckFiles(options); !status.ok()) return status;
  }
  if (!options.api_keys.empty()) {
    auto keys = KeyRing::Open(options.api_keys);
    if (!keys.ok()) return keys.status();
    access->keys_ = *std::move(keys);
  }
  return access;
}

std::shared_ptr<grpc::ServerCredentials> Access::GrpcCredentials() const {
  namespace tls = grpc::experimental;
  if (!encrypted()) return nullptr;
  tls::TlsServerCredentialsOptions options(std::make_shared<tls::FileWatcherCertificateProvider>(
      options_.tls_key, options_.tls_certificate, options_.tls_client_ca, kLookEverySeconds));
  options.watch_identity_key_cert_pairs();
  if (asks_for_certificate()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

bool Access::SetUp(ssl_ctx_st& context) const {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  if (asks_for_certificate()) {
    SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
    // A resumed session would not be checked against the authority of the moment.
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(&context, 0);
  }
  SSL_CTX_set_cert_cb(&context, UseFilesOfTheMoment, const_cast<AccessOptions*>(&options_));
  return SSL_CTX_use_certificate_chain_file(&context, options_.tls_certificate.c_str()) == 1 &&
         SSL_CTX_use_PrivateKey_file(&context, options_.tls_key.c_str(), SSL_FILETYPE_PEM) == 1;
}

absl::StatusOr<Client> Access::Identify(const Credentials& credentials) const {
  if (keys_ == nullptr) {
    if (!credentials.certificate_subject.empty()) {
      return Client{Client::Kind::kCertificate, std::string(credentials.certificate_subject), {}};
    }
    return Client{Client::Kind::kAddress, std::string(credentials.address), {}};
  }
  absl::string_view bearer(credentials.authorization.data(), credentials.authorization.size());
  const bool is_bearer = absl::StartsWithIgnoreCase(bearer, "bearer ");
  const std::string_view key = is_bearer ? credentials.authorization.substr(7) : credentials.api_key;
  if (key.empty()) {
    return absl::UnauthenticatedError(
        "this server asks for an API key, as \"authorization: Bearer KEY\" or \"x-api-key: KEY\"");
  }
  auto client = keys_->Find(key);
  if (!client.has_value()) return absl::UnauthenticatedError("the API key is not one that this server knows");
  return *std::move(client);
}

}  // namespace salient
