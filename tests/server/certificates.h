// Certificates for tests: a CA and the certificates that it issues, as PEM files.

#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509v3.h"

namespace salient::testing {

struct CertificateFiles {
  std::string certificate, key;
};

class Authority {
 public:
  // Files go to `folder`, which must exist.
  Authority(const std::string& folder, const std::string& name) : folder_(folder), name_(name), key_(NewKey()) {
    certificate_ = Make(name, key_.get(), /*is_authority=*/true);
    WriteCertificate(path(), certificate_.get());
  }

  std::string path() const { return folder_ + "/" + name_ + ".pem"; }

  // Issues a certificate for the host 127.0.0.1, valid from an hour ago until `seconds` from now. Replaces an earlier
  // one of this name, each file at once.
  CertificateFiles Issue(const std::string& name, long seconds = 3600) {  // NOLINT: OpenSSL's type
    const Key key = NewKey();
    const Certificate certificate = Make(name, key.get(), /*is_authority=*/false, seconds);
    const CertificateFiles files = {folder_ + "/" + name + ".crt", folder_ + "/" + name + ".key"};
    WriteCertificate(files.certificate + ".new", certificate.get());
    FILE* const file = std::fopen((files.key + ".new").c_str(), "w");
    EXPECT_EQ(PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
    std::fclose(file);
    for (const std::string& path_of_file : {files.key, files.certificate}) {
      EXPECT_EQ(std::rename((path_of_file + ".new").c_str(), path_of_file.c_str()), 0);
    }
    return files;
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free>;
  using Certificate = std::unique_ptr<X509, Free>;

  static Key NewKey() { return Key(EVP_EC_gen("P-256")); }

  Certificate Make(const std::string& name, EVP_PKEY* key, bool is_authority, long seconds = 3600) {  // NOLINT
    Certificate certificate(X509_new());
    X509* const x = certificate.get();
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), seconds);
    X509_set_pubkey(x, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509* const issuer = is_authority ? x : certificate_.get();
    X509_set_issuer_name(x, X509_get_subject_name(issuer));
    Extend(x, issuer, NID_basic_constraints, is_authority ? "critical,CA:TRUE" : "CA:FALSE");
    if (!is_authority) Extend(x, issuer, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    EXPECT_GT(X509_sign(x, key_.get(), EVP_sha256()), 0);
    return certificate;
  }

  static void Extend(X509* certificate, X509* issuer, int kind, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static void WriteCertificate(const std::string& path, X509* certificate) {
    FILE* const file = std::fopen(path.c_str(), "w");
    EXPECT_EQ(PEM_write_X509(file, certificate), 1);
    std::fclose(file);
  }

  const std::string folder_, name_;
  const Key key_;
  Certificate certificate_;
  long serial_ = 0;  // NOLINT: OpenSSL's type
};

}  // namespace salient::testing
