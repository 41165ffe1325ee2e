#include "server/access/tls_files.h"

#include "absl/strings/str_cat.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

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

absl::StatusOr<std::shared_ptr<SSL_CTX>> ReadPair(const TlsFiles::Paths& paths) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(), paths.certificate.c_str()) != 1) {
    return Wrong("--tls-cert", paths.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), paths.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return Wrong("--tls-key", paths.key);
  }
  return context;
}

absl::StatusOr<std::shared_ptr<X509_STORE>> ReadAuthority(const std::string& path) {
  ERR_clear_error();
  std::shared_ptr<X509_STORE> store(X509_STORE_new(), X509_STORE_free);
  if (X509_STORE_load_file(store.get(), path.c_str()) != 1) return Wrong("--tls-client-ca", path);
  return store;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsFiles>> TlsFiles::Open(Paths paths) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(std::move(paths)));
  if (const absl::Status read = files->Read(); !read.ok()) return read;
  return files;
}

void TlsFiles::SetUp(ssl_ctx_st& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  if (!paths_.client_ca.empty()) {
    SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
    // A resumed session would not be checked against the authority of the moment.
    SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(&context, 0);
  }
  SSL_CTX_set_cert_cb(&context, BeforeHandshake, this);
}

int TlsFiles::BeforeHandshake(ssl_st* connection, void* files) {
  auto& self = *static_cast<TlsFiles*>(files);
  const std::lock_guard lock(self.mutex_);
  std::string complaint;
  if (const absl::Status read = self.Read(); !read.ok()) complaint = std::string(read.message());
  if (complaint != self.complaint_) {
    if (complaint.empty()) {
      spdlog::info("{}: read again", self.paths_.certificate);
    } else {
      spdlog::warn("{}; connections get the previous contents", complaint);
    }
    self.complaint_ = std::move(complaint);
  }
  self.Present(*connection);
  return 1;
}

// Takes what fits; the first error of what does not.
absl::Status TlsFiles::Read() {
  const absl::StatusOr<std::shared_ptr<SSL_CTX>> pair = ReadPair(paths_);
  if (pair.ok()) pair_ = *pair;
  if (paths_.client_ca.empty()) return pair.status();
  const absl::StatusOr<std::shared_ptr<X509_STORE>> authority = ReadAuthority(paths_.client_ca);
  if (authority.ok()) authority_ = *authority;
  return pair.ok() ? authority.status() : pair.status();
}

void TlsFiles::Present(ssl_st& connection) {
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(pair_.get(), &chain);
  SSL_use_cert_and_key(&connection, SSL_CTX_get0_certificate(pair_.get()), SSL_CTX_get0_privatekey(pair_.get()), chain,
                       /*override=*/1);
  if (authority_ != nullptr) SSL_set1_verify_cert_store(&connection, authority_.get());
}

}  // namespace salient
