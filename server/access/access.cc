#include "server/access/access.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_credentials_options.h"
#include "server/access/tls_files.h"
#include "server/admission/key_ring.h"

namespace salient {
namespace {

constexpr unsigned kLookEverySeconds = 60;  // at certificates for gRPC

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

}  // namespace

Access::Access() = default;
Access::~Access() = default;

absl::StatusOr<std::shared_ptr<const Access>> Access::Open(const AccessOptions& options) {
  if (absl::Status status = CheckFlags(options); !status.ok()) return status;
  auto access = std::make_shared<Access>();
  access->options_ = options;
  if (access->encrypted()) {
    auto files = TlsFiles::Open({options.tls_certificate, options.tls_key, options.tls_client_ca});
    if (!files.ok()) return files.status();
    access->tls_ = *std::move(files);
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

void Access::SetUp(ssl_ctx_st& context) const { tls_->SetUp(context); }

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
