// Who gets in: over both ports, with and without keys and certificates, and when the files change.

#include "server/access/access.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/connection.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "server/admission/key_ring.h"
#include "tests/server/certificates.h"
#include "tests/server/test_server.h"
#include "tests/testing/loopback_socket.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::testing::Authority;
using ::salient::testing::CertificateFiles;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kKey[] = "0123456789abcdef0123456789abcdef";
constexpr char kOtherKey[] = "fedcba9876543210fedcba9876543210";

class AccessTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    WriteFile(temp_ / name, text);
    return temp_ / name;
  }

  static std::shared_ptr<const Access> Open(const AccessOptions& options) {
    auto access = Access::Open(options);
    EXPECT_TRUE(access.ok()) << access.status();
    return access.ok() ? *access : std::make_shared<Access>();
  }
  static std::string Refusal(const AccessOptions& options) {
    const auto access = Access::Open(options);
    EXPECT_TRUE(absl::IsInvalidArgument(access.status())) << access.status();
    return std::string(access.status().message());
  }

  // What a client with these flags gets for its first call.
  static absl::Status Call(const TestServer& server, ConnectionFlags flags) {
    flags.server = server.address();
    auto stub = Connect(flags);
    if (!stub.ok()) return stub.status();
    grpc::ClientContext context;
    v1::TranslateDocumentResponse reply;
    return Explain((*stub)->TranslateDocument(&context, RequestFor("text"), &reply), flags.server);
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
};

TEST_F(AccessTest, FlagsThatDoNotFitTogether) {
  EXPECT_THAT(Refusal({.tls_certificate = "a.crt"}), HasSubstr("needs --tls-key"));
  EXPECT_THAT(Refusal({.tls_key = "a.key"}), HasSubstr("needs --tls-cert"));
  EXPECT_THAT(Refusal({.tls_client_ca = "ca.pem"}), HasSubstr("--tls-client-ca needs --tls-cert"));
}

TEST_F(AccessTest, FilesThatDoNotFit) {
  Authority authority(folder_, "ca");
  const CertificateFiles one = authority.Issue("one"), other = authority.Issue("other");
  const std::string nothing = Write("nothing.pem", "no certificate");
  EXPECT_THAT(Refusal({.tls_certificate = "missing.crt", .tls_key = one.key}), HasSubstr("--tls-cert: missing.crt"));
  EXPECT_THAT(Refusal({.tls_certificate = nothing, .tls_key = one.key}), HasSubstr("--tls-cert: " + nothing));
  EXPECT_THAT(Refusal({.tls_certificate = one.certificate, .tls_key = other.key}),
              HasSubstr("--tls-key: " + other.key));
  EXPECT_THAT(Refusal({.tls_certificate = one.certificate, .tls_key = one.key, .tls_client_ca = nothing}),
              HasSubstr("--tls-client-ca: " + nothing));
}

TEST_F(AccessTest, KeyFilesThatAreWrong) {
  EXPECT_THAT(Refusal({.api_keys = folder_ + "/missing"}), HasSubstr("missing cannot be read: No such file"));
  EXPECT_THAT(Refusal({.api_keys = Write("empty", "# none\n\n")}), HasSubstr("holds no key"));
  EXPECT_THAT(Refusal({.api_keys = Write("short", std::string(kKey) + "\nsecret\n")}),
              ::testing::AllOf(HasSubstr("line 2"), HasSubstr("openssl rand")));
}

TEST_F(AccessTest, GrpcCallsNeedAKey) {
  TestServer server({}, 4 << 20, Open({.api_keys = Write("keys", std::string("# ours\n ") + kKey + " \n")}));
  server.Start();
  const absl::Status without = Call(server, {});
  EXPECT_TRUE(absl::IsUnauthenticated(without)) << without;
  EXPECT_THAT(without.message(), HasSubstr("SALIENT_API_KEY"));
  EXPECT_TRUE(absl::IsUnauthenticated(Call(server, {.api_key = kOtherKey})));
  EXPECT_TRUE(absl::IsUnauthenticated(Call(server, {.api_key = std::string(kKey) + "0"})));
  EXPECT_TRUE(Call(server, {.api_key = kKey}).ok());
}

TEST_F(AccessTest, AKeysLimitsHold) {
  TestServer server({.automatic = false}, 4 << 20,
                    Open({.api_keys = Write("keys", std::string(kKey) + " name=a documents=1\n" + kOtherKey)}));
  server.Start();
  const auto call = [&server](const char* key, grpc::ClientContext& context) {
    context.AddMetadata("x-api-key", key);
    v1::TranslateDocumentResponse reply;
    return server.stub().TranslateDocument(&context, RequestFor("text"), &reply);
  };
  std::thread first([&] {
    grpc::ClientContext context;
    EXPECT_TRUE(call(kKey, context).ok());
  });
  server.engine().WaitForAdmitted(1);
  EXPECT_EQ(server.engine().request(0).client, "key:a");
  grpc::ClientContext context;
  const grpc::Status refused = call(kKey, context);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_EQ(context.GetServerTrailingMetadata().count("grpc-retry-pushback-ms"), 1u);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("x-request-id"), 1u);
  httplib::Client http("127.0.0.1", server.http_port());
  const auto reply =
      http.Post("/v1/translate", {{"X-API-Key", kKey}}, R"({"document": {"text": "a"}})", "application/json");
  EXPECT_EQ(reply->status, 429);
  EXPECT_EQ(reply->get_header_value("Retry-After"), "1");
  std::thread other([&] {
    grpc::ClientContext theirs;
    EXPECT_TRUE(call(kOtherKey, theirs).ok());
  });
  server.engine().WaitForAdmitted(2);
  server.engine().Finish(0);
  server.engine().Finish(1);
  first.join();
  other.join();
  httplib::Client admin("127.0.0.1", server.admin_port());
  EXPECT_THAT(admin.Get("/metrics")->body,
              HasSubstr("salient_refusals_total{client=\"key\",reason=\"client_documents\"} 2"));
}

TEST_F(AccessTest, EveryMethodAsksForTheKey) {
  TestServer server({}, 4 << 20, Open({.api_keys = Write("keys", kKey)}));
  server.Start();
  const auto code = [](const grpc::Status& status) { return status.error_code(); };
  {
    grpc::ClientContext context;
    v1::ListModelsResponse reply;
    EXPECT_EQ(code(server.stub().ListModels(&context, {}, &reply)), grpc::StatusCode::UNAUTHENTICATED);
  }
  {
    grpc::ClientContext context;
    v1::Model reply;
    EXPECT_EQ(code(server.stub().GetModel(&context, {}, &reply)), grpc::StatusCode::UNAUTHENTICATED);
  }
  {
    grpc::ClientContext context;
    v1::StreamTranslateDocumentResponse event;
    auto reader = server.stub().StreamTranslateDocument(&context, RequestFor("text"));
    EXPECT_FALSE(reader->Read(&event));
    EXPECT_EQ(code(reader->Finish()), grpc::StatusCode::UNAUTHENTICATED);
  }
  {
    grpc::ClientContext context;
    v1::TranslateDocumentsResponse event;
    auto stream = server.stub().TranslateDocuments(&context);
    EXPECT_FALSE(stream->Read(&event));
    EXPECT_EQ(code(stream->Finish()), grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(AccessTest, HttpCallsNeedAKeyAndProbesDoNot) {
  TestServer server({}, 4 << 20, Open({.api_keys = Write("keys", kKey)}));
  server.Start();
  httplib::Client client("127.0.0.1", server.http_port());
  httplib::Client admin("127.0.0.1", server.admin_port());
  for (const char* path : {"/healthz", "/readyz"}) EXPECT_EQ(client.Get(path)->status, 200) << path;
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) EXPECT_EQ(admin.Get(path)->status, 200) << path;
  const std::string body = R"({"document": {"text": "text"}})";
  const auto refused = client.Post("/v1/translate", body, "application/json");
  EXPECT_EQ(refused->status, 401);
  EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  for (const char* path : {"/v1/models", "/v1/models/x", "/metrics", "/page/none"})
    EXPECT_EQ(client.Get(path)->status, 401) << path;
  for (const char* path : {"/", "/page/main.mjs"}) {  // the page asks for the key
    EXPECT_EQ(client.Get(path)->status, 200) << path;
    EXPECT_EQ(client.Post(path, body, "application/json")->status, 401) << path;
  }
  const auto with = [](const std::string& name, const std::string& value) { return httplib::Headers{{name, value}}; };
  EXPECT_EQ(
      client.Post("/v1/translate", with("Authorization", std::string("Bearer ") + kKey), body, "application/json")
          ->status,
      200);
  EXPECT_EQ(client.Get("/v1/models", with("X-API-Key", kKey))->status, 200);
  EXPECT_EQ(client.Get("/v1/models", with("X-API-Key", kOtherKey))->status, 401);
  EXPECT_THAT(admin.Get("/metrics")->body, HasSubstr("outcome=\"unauthenticated\""));
}

TEST_F(AccessTest, TheBodiesOfOneClientLeaveMemoryForOthers) {
  constexpr size_t kBody = 1 << 20;  // all bodies may have 8 MiB and a little
  TestServer server({}, 1000, Open({.api_keys = Write("keys", std::string(kKey) + "\n" + kOtherKey)}));
  server.Start();
  std::vector<std::unique_ptr<LoopbackSocket>> arriving;
  for (int i = 0; i < 7; ++i) {
    arriving.push_back(std::make_unique<LoopbackSocket>(server.http_port()));
    arriving.back()->Send(absl::StrCat("POST /v1/translate HTTP/1.1\r\nHost: h\r\nX-API-Key: ", kKey,
                                       "\r\nContent-Length: ", kBody, "\r\n\r\n", std::string(kBody - 1, ' ')));
  }
  // Two threads read, so any may be the one for which there is no memory, and two may be at the same moment.
  std::vector<pollfd> replies;
  for (const auto& one : arriving) replies.push_back({one->descriptor(), POLLIN, 0});
  const int refusals = poll(replies.data(), replies.size(), 30000);
  EXPECT_TRUE(refusals == 1 || refusals == 2) << refusals;
  for (const pollfd& reply : replies) {
    if (reply.revents == 0) continue;
    std::string refused(1024, '\0');
    const ssize_t size = recv(reply.fd, refused.data(), refused.size(), 0);
    refused.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
  }
  httplib::Client other("127.0.0.1", server.http_port());
  const std::string body = std::string(kBody, ' ') + R"({"document": {"text": "text"}})";
  EXPECT_EQ(other.Post("/v1/translate", {{"X-API-Key", kOtherKey}}, body, "application/json")->status, 200);
}

TEST_F(AccessTest, KeysAreReadAgainWhenTheFileChanges) {
  const std::string path = Write("keys", kKey);
  const auto ring = KeyRing::Open(path);
  ASSERT_TRUE(ring.ok()) << ring.status();
  // The file is looked at once a second; this is the first look.
  Write("keys", kOtherKey);
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(10));
  EXPECT_FALSE((*ring)->Find(kKey).has_value());
  EXPECT_TRUE((*ring)->Find(kOtherKey).has_value());
}

TEST_F(AccessTest, KeysStayWhenTheFileTurnsBad) {
  const std::string path = Write("keys", kKey);
  const auto ring = KeyRing::Open(path);
  ASSERT_TRUE(ring.ok()) << ring.status();
  std::filesystem::remove(path);
  EXPECT_TRUE((*ring)->Find(kKey).has_value());
}

// Its permissions may be mended, which does not change its time; or it was written in two parts at one time.
TEST_F(AccessTest, AFileThatTurnedBadIsReadAgain) {
  const std::string path = Write("keys", kKey);
  const auto ring = KeyRing::Open(path);
  ASSERT_TRUE(ring.ok()) << ring.status();
  const auto changed = std::filesystem::last_write_time(path) + std::chrono::seconds(10);
  Write("keys", "short");
  std::filesystem::last_write_time(path, changed);
  EXPECT_TRUE((*ring)->Find(kKey).has_value());
  Write("keys", kOtherKey);
  std::filesystem::last_write_time(path, changed);
  for (int i = 0; i < 1000 && (*ring)->Find(kKey).has_value(); ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_FALSE((*ring)->Find(kKey).has_value());
  EXPECT_TRUE((*ring)->Find(kOtherKey).has_value());
}

// It may last for days.
TEST_F(AccessTest, AStreamOfDocumentsIsCheckedWithTheKeysOfTheMoment) {
  const std::string path = Write("keys", kKey);
  TestServer server({}, 4 << 20, Open({.api_keys = path}));
  server.Start();
  grpc::ClientContext context;
  context.AddMetadata("x-api-key", kKey);
  const auto stream = server.stub().TranslateDocuments(&context);
  const auto ask = [&stream] {
    v1::TranslateDocumentsRequest request;
    *request.mutable_request() = RequestFor("text");
    v1::TranslateDocumentsResponse reply;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&reply));
    return reply;
  };
  EXPECT_EQ(ask().response().text(), "TEXT");
  const auto replace_by = [&](const char* key) {
    Write("keys.new", key);
    std::filesystem::rename(folder_ + "/keys.new", path);
    while (!Call(server, {.api_key = key}).ok()) absl::SleepFor(absl::Milliseconds(10));
  };
  replace_by(kOtherKey);
  EXPECT_EQ(ask().error().code(), static_cast<int>(grpc::StatusCode::UNAUTHENTICATED));
  replace_by(kKey);
  EXPECT_EQ(ask().response().text(), "TEXT");
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(server.engine().admitted(), 4) << "two of the stream, and one call with each key";
}

TEST_F(AccessTest, TlsOnBothPorts) {
  Authority authority(folder_, "ca");
  const CertificateFiles own = authority.Issue("server");
  TestServer server({}, 4 << 20, Open({.tls_certificate = own.certificate, .tls_key = own.key}));
  server.Start();
  EXPECT_TRUE(Call(server, {.tls_ca = authority.path()}).ok());
  EXPECT_TRUE(absl::IsUnavailable(Call(server, {})));
  Authority stranger(folder_, "stranger");
  EXPECT_TRUE(absl::IsUnavailable(Call(server, {.tls_ca = stranger.path()})));

  httplib::SSLClient client("127.0.0.1", server.http_port());
  client.set_ca_cert_path(authority.path().c_str());
  client.enable_server_certificate_verification(true);
  const auto ready = client.Get("/readyz");
  ASSERT_TRUE(ready) << ready.error();
  EXPECT_EQ(ready->status, 200);
  EXPECT_FALSE(httplib::Client("127.0.0.1", server.http_port()).Get("/readyz"));
}

TEST_F(AccessTest, ClientsNeedACertificate) {
  Authority authority(folder_, "ca"), stranger(folder_, "stranger");
  const CertificateFiles own = authority.Issue("server"), client = authority.Issue("client"),
                         forged = stranger.Issue("forged");
  TestServer server({}, 4 << 20,
                    Open({.tls_certificate = own.certificate, .tls_key = own.key, .tls_client_ca = authority.path()}));
  server.Start();
  const auto call = [&](const CertificateFiles& files) {
    return Call(server, {.tls_ca = authority.path(), .tls_certificate = files.certificate, .tls_key = files.key});
  };
  EXPECT_TRUE(call(client).ok()) << call(client);
  EXPECT_FALSE(call({}).ok());
  EXPECT_FALSE(call(forged).ok());

  httplib::SSLClient without("127.0.0.1", server.http_port());
  without.enable_server_certificate_verification(false);
  EXPECT_EQ(without.Get("/readyz")->status, 200);
  EXPECT_EQ(without.Get("/v1/models")->status, 403);
  httplib::SSLClient with("127.0.0.1", server.http_port(), client.certificate, client.key);
  with.enable_server_certificate_verification(false);
  EXPECT_EQ(with.Get("/v1/models")->status, 200);
  httplib::SSLClient with_forged("127.0.0.1", server.http_port(), forged.certificate, forged.key);
  with_forged.enable_server_certificate_verification(false);
  EXPECT_FALSE(with_forged.Get("/v1/models"));
}

TEST_F(AccessTest, HttpsTakesUpARenewedCertificate) {
  Authority old_authority(folder_, "ca"), new_authority(folder_, "new-ca");
  const CertificateFiles own = old_authority.Issue("server");
  TestServer server({}, 4 << 20, Open({.tls_certificate = own.certificate, .tls_key = own.key}));
  server.Start();
  const auto get = [&](const Authority& authority) {
    httplib::SSLClient client("127.0.0.1", server.http_port());
    client.set_ca_cert_path(authority.path().c_str());
    client.enable_server_certificate_verification(true);
    return static_cast<bool>(client.Get("/healthz"));
  };
  EXPECT_TRUE(get(old_authority));
  new_authority.Issue("server");
  EXPECT_FALSE(get(old_authority));
  EXPECT_TRUE(get(new_authority));

  // Files that have become unreadable leave the renewed certificate, not the first one.
  WriteFile(own.certificate, "no certificate");
  EXPECT_FALSE(get(old_authority));
  EXPECT_TRUE(get(new_authority));
  std::filesystem::remove(own.key);
  EXPECT_TRUE(get(new_authority));
  old_authority.Issue("server");
  EXPECT_TRUE(get(old_authority));
  EXPECT_FALSE(get(new_authority));
}

TEST_F(AccessTest, HttpsKeepsTheAuthorityOfClientsWhileItsFileIsUnreadable) {
  Authority authority(folder_, "ca"), stranger(folder_, "stranger");
  const CertificateFiles own = authority.Issue("server"), client = authority.Issue("client"),
                         forged = stranger.Issue("forged");
  const std::string authorities = folder_ + "/authorities.pem";
  std::filesystem::copy_file(authority.path(), authorities);
  TestServer server({}, 4 << 20,
                    Open({.tls_certificate = own.certificate, .tls_key = own.key, .tls_client_ca = authorities}));
  server.Start();
  const auto models = [&](const CertificateFiles& files) {
    httplib::SSLClient with("127.0.0.1", server.http_port(), files.certificate, files.key);
    with.enable_server_certificate_verification(false);
    const auto reply = with.Get("/v1/models");
    return reply ? reply->status : 0;
  };
  EXPECT_EQ(models(client), 200);
  std::filesystem::remove(authorities);
  EXPECT_EQ(models(client), 200);
  EXPECT_EQ(models(forged), 0);
  std::filesystem::copy_file(stranger.path(), authorities);
  EXPECT_EQ(models(client), 0);
  EXPECT_EQ(models(forged), 200);
}

}  // namespace
}  // namespace salient
