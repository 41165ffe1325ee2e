// TLS that is not as it should be, on both ports: other authorities, old certificates, old protocols; and certificates
// that are replaced while many connect.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/connection.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "openssl/ssl.h"
#include "tests/server/certificates.h"
#include "tests/server/test_server.h"
#include "tests/testing/loopback_socket.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::testing::Authority;
using ::salient::testing::CertificateFiles;

class TlsTest : public ::testing::Test {
 protected:
  std::unique_ptr<TestServer> Start(const CertificateFiles& own, const std::string& client_authority = "") {
    auto access =
        Access::Open({.tls_certificate = own.certificate, .tls_key = own.key, .tls_client_ca = client_authority});
    EXPECT_TRUE(access.ok()) << access.status();
    auto server = std::make_unique<TestServer>(FakeEngineOptions(), 4 << 20, *access);
    server->Start();
    return server;
  }

  absl::Status Grpc(const TestServer& server, const CertificateFiles& client) {
    auto stub = Connect({.server = server.address(),
                         .tls_ca = authority_.path(),
                         .tls_certificate = client.certificate,
                         .tls_key = client.key});
    if (!stub.ok()) return stub.status();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::TranslateDocumentResponse reply;
    return Explain((*stub)->TranslateDocument(&context, RequestFor("text"), &reply), server.address());
  }

  // The status of /v1/models; 0: no connection.
  int Https(const TestServer& server, const CertificateFiles& client) {
    httplib::SSLClient https("127.0.0.1", server.http_port(), client.certificate, client.key);
    https.set_ca_cert_path(authority_.path().c_str());
    https.enable_server_certificate_verification(true);
    const auto reply = https.Get("/v1/models");
    return reply ? reply->status : 0;
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
  Authority authority_{folder_, "ca"};
};

TEST_F(TlsTest, ClientsOfAnotherAuthorityAreTurnedAway) {
  Authority stranger(folder_, "stranger");
  const auto server = Start(authority_.Issue("server"), authority_.path());
  const CertificateFiles forged = stranger.Issue("forged");
  EXPECT_FALSE(Grpc(*server, forged).ok());
  EXPECT_EQ(Https(*server, forged), 0);
  const CertificateFiles good = authority_.Issue("client");
  EXPECT_TRUE(Grpc(*server, good).ok()) << Grpc(*server, good);
  EXPECT_EQ(Https(*server, good), 200);
}

TEST_F(TlsTest, AnExpiredClientIsTurnedAway) {
  const auto server = Start(authority_.Issue("server"), authority_.path());
  const CertificateFiles expired = authority_.Issue("client", -60);
  EXPECT_FALSE(Grpc(*server, expired).ok());
  EXPECT_EQ(Https(*server, expired), 0);
}

TEST_F(TlsTest, AnExpiredServerIsNotTalkedTo) {
  const auto server = Start(authority_.Issue("server", -60));
  EXPECT_TRUE(absl::IsUnavailable(Grpc(*server, {})));
  EXPECT_EQ(Https(*server, {}), 0);
}

TEST_F(TlsTest, WithoutACertificateTheGrpcPortTalksToNobody) {
  const auto server = Start(authority_.Issue("server"), authority_.path());
  EXPECT_FALSE(Grpc(*server, {}).ok());
  EXPECT_EQ(Https(*server, {}), 403) << "which says what is missing; probes are let through";
}

// Whether a handshake succeeds with no newer version than this; the client's own policy allows all of them.
bool Handshake(int port, int most) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, most);
  SSL* const connection = SSL_new(context);
  SSL_set_alpn_protos(connection, reinterpret_cast<const unsigned char*>("\x02h2"), 3);
  const LoopbackSocket socket(port);
  SSL_set_fd(connection, socket.descriptor());
  const bool done = SSL_connect(connection) == 1;
  SSL_free(connection);
  SSL_CTX_free(context);
  return done;
}

// Whether a second connection with the session of the first gets an answer, as clients do that keep sessions.
bool AnswersAgain(int port, const CertificateFiles& client, int version) {
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_max_proto_version(context, version);
  SSL_CTX_use_certificate_chain_file(context, client.certificate.c_str());
  SSL_CTX_use_PrivateKey_file(context, client.key.c_str(), SSL_FILETYPE_PEM);
  SSL_SESSION* session = nullptr;
  bool answered = true;
  for (int i = 0; i < 2; ++i) {
    SSL* const connection = SSL_new(context);
    const LoopbackSocket socket(port);
    SSL_set_fd(connection, socket.descriptor());
    if (session != nullptr) SSL_set_session(connection, session);
    constexpr char kRequest[] = "GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n";
    char answer[64];
    answered = answered && SSL_connect(connection) == 1 && SSL_write(connection, kRequest, sizeof(kRequest) - 1) > 0 &&
               SSL_read(connection, answer, sizeof(answer)) > 0;
    SSL_SESSION_free(session);
    session = SSL_get1_session(connection);
    SSL_free(connection);
  }
  SSL_SESSION_free(session);
  SSL_CTX_free(context);
  return answered;
}

TEST_F(TlsTest, AClientThatKeepsItsSessionConnectsAgain) {
  const auto server = Start(authority_.Issue("server"), authority_.path());
  const CertificateFiles client = authority_.Issue("client");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_TRUE(AnswersAgain(server->http_port(), client, version)) << version;
  }
}

TEST_F(TlsTest, OldProtocolsAreRefused) {
  const auto server = Start(authority_.Issue("server"));
  const std::string grpc = server->address();
  for (const int port : {std::stoi(grpc.substr(grpc.rfind(':') + 1)), server->http_port()}) {
    EXPECT_FALSE(Handshake(port, TLS1_VERSION));
    EXPECT_FALSE(Handshake(port, TLS1_1_VERSION));
    EXPECT_TRUE(Handshake(port, TLS1_2_VERSION));
    EXPECT_TRUE(Handshake(port, TLS1_3_VERSION));
  }
}

// A key of one certificate beside the other of a pair is what a reader sees between the two renames.
TEST_F(TlsTest, CertificatesAreReplacedWhileManyConnect) {
  const auto server = Start(authority_.Issue("server"), authority_.path());
  const CertificateFiles client = authority_.Issue("client");
  std::atomic<bool> stop = false;
  std::atomic<int> grpc_calls = 0, https_calls = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        EXPECT_EQ(Https(*server, client), 200);
        ++https_calls;
      }
    });
    threads.emplace_back([&] {
      while (!stop) {
        const absl::Status status = Grpc(*server, client);
        EXPECT_TRUE(status.ok()) << status;
        ++grpc_calls;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    authority_.Issue("server");
    absl::SleepFor(absl::Milliseconds(50));
  }
  while (grpc_calls < 20 || https_calls < 20) absl::SleepFor(absl::Milliseconds(10));
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace salient
