// The end of a server: nothing new is taken, nothing that was taken is lost.

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

void WaitUntilDraining(TestServer& server) {
  while (!server.server().translator().in_flight().draining()) absl::SleepFor(absl::Milliseconds(1));
}

// gRPC answers a call that crosses the GOAWAY on the wire only when the connection closes, as UNAVAILABLE; one made
// after it at once.
void WaitUntilToldToGoAway(TestServer& server) {
  for (int i = 0; i < 5000 && server.channel()->GetState(false) == GRPC_CHANNEL_READY; ++i) {
    absl::SleepFor(absl::Milliseconds(1));
  }
}

TEST(DrainTest, DocumentsInFlightAreFinishedAndNewOnesRefused) {
  TestServer server({.automatic = false});
  server.Start();
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  std::thread caller([&] {
    const grpc::Status status = server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  server.engine().WaitForAdmitted(1);
  std::promise<int> cancelled;
  std::thread drainer([&] { cancelled.set_value(server.server().Drain(kPatiently)); });
  WaitUntilDraining(server);
  WaitUntilToldToGoAway(server);

  grpc::ClientContext late_context;
  v1::TranslateDocumentResponse late;
  const grpc::Status status = server.stub().TranslateDocument(&late_context, RequestFor("late"), &late);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  httplib::Client http("127.0.0.1", server.http_port());
  httplib::Client admin("127.0.0.1", server.admin_port());
  for (httplib::Client* client : {&http, &admin}) {
    EXPECT_EQ(client->Get("/readyz")->status, 503);
    EXPECT_EQ(client->Get("/healthz")->status, 200);
  }
  EXPECT_EQ(http.Post("/v1/translate", R"({"document": {"text": "late"}})", "application/json")->status, 503);

  server.engine().Finish(0);
  caller.join();
  drainer.join();
  EXPECT_EQ(response.text(), "TEXT");
  EXPECT_EQ(cancelled.get_future().get(), 0);
}

// A busy machine may take longer for the calls than the delay is: then it is made longer.
TEST(DrainTest, DuringTheDelayNothingIsRefused) {
  bool in_time = false;
  for (absl::Duration delay = absl::Seconds(1); !in_time && delay < absl::Minutes(1); delay *= 4) {
    TestServer server;
    server.Start();
    httplib::Client http("127.0.0.1", server.http_port());
    http.set_keep_alive(true);
    std::thread drainer([&] { server.server().Drain({.delay = delay}); });
    for (auto ready = http.Get("/readyz"); ready && ready->status == 200; ready = http.Get("/readyz")) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    grpc::ClientContext context;
    v1::TranslateDocumentResponse response;
    const grpc::Status status = server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    const auto reply = http.Post("/v1/translate", R"({"document": {"text": "text"}})", "application/json");
    in_time = !server.server().translator().in_flight().draining();
    if (in_time) {
      EXPECT_TRUE(status.ok()) << status.error_message();
      ASSERT_TRUE(reply);
      EXPECT_EQ(reply->status, 200);
      EXPECT_EQ(reply->get_header_value("Connection"), "close") << "as a GOAWAY, before anything is refused";
    }
    drainer.join();
  }
  EXPECT_TRUE(in_time);
}

TEST(DrainTest, ClientsAreToldToGoWhileTheirDocumentsAreFinished) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  v1::TranslateDocumentResponse response;
  std::thread caller([&] {
    const grpc::Status status = server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
  server.engine().WaitForAdmitted(1);
  std::thread drainer([&] { EXPECT_EQ(server.server().Drain(kPatiently), 0); });
  const auto deadline = std::chrono::system_clock::now() + std::chrono::minutes(1);
  EXPECT_TRUE(server.channel()->WaitForStateChange(GRPC_CHANNEL_READY, deadline)) << "no GOAWAY";
  server.engine().Finish(0);
  caller.join();
  drainer.join();
  EXPECT_EQ(response.text(), "TEXT");
}

// As above.
TEST(DrainTest, WhoWatchesTheHealthIsTurnedAwayFirstAndHoldsNothingUp) {
  bool in_time = false;
  for (absl::Duration delay = absl::Seconds(1); !in_time && delay < absl::Minutes(1); delay *= 4) {
    TestServer server;
    server.Start();
    grpc::ChannelArguments arguments;
    arguments.SetServiceConfigJSON(R"({"loadBalancingConfig": [{"round_robin": {}}],
                                       "healthCheckConfig": {"serviceName": "salient.v1.Translation"}})");
    auto channel = grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::minutes(5);
    ASSERT_TRUE(channel->WaitForConnected(deadline));
    std::thread drainer(
        [&] { EXPECT_EQ(server.server().Drain({.delay = delay, .patience = absl::InfiniteDuration()}), 0); });
    EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, deadline));
    in_time = !server.server().translator().in_flight().draining();
    drainer.join();  // though the channel still watches
  }
  EXPECT_TRUE(in_time) << "it hears of it only when it is too late";
}

TEST(DrainTest, WhatTakesTooLongIsCancelledAndToldSo) {
  TestServer server({.automatic = false});
  server.Start();
  std::thread caller([&] {
    grpc::ClientContext context;
    v1::TranslateDocumentResponse response;
    const grpc::Status status = server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("stopped before the translation was finished"));
  });
  server.engine().WaitForAdmitted(1);
  EXPECT_EQ(server.server().Drain({.patience = absl::Milliseconds(10)}), 1);
  caller.join();
}

TEST(DrainTest, OpenStreamsEndOnceTheirDocumentsAreAnswered) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  v1::TranslateDocumentsRequest request;
  request.set_id("a");
  *request.mutable_request() = RequestFor("text");
  ASSERT_TRUE(stream->Write(request));
  server.engine().WaitForAdmitted(1);
  std::thread drainer([&server] { EXPECT_EQ(server.server().Drain(kPatiently), 0); });
  WaitUntilDraining(server);
  server.engine().Finish(0);
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.response().text(), "TEXT");
  EXPECT_FALSE(stream->Read(&reply));
  // The stream was not over for the client: documents it had sent might be unread.
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  drainer.join();
}

TEST(DrainTest, AnIdleServerStopsAtOnce) {
  TestServer server;
  server.Start();
  EXPECT_EQ(server.server().Drain(kPatiently), 0);
  EXPECT_EQ(server.server().Drain(kPatiently), 0) << "twice is no harm";
}

TEST(ConnectionAgeTest, AnOldConnectionIsClosed) {
  Server server({.listen = "127.0.0.1:0", .http = "", .max_connection_age = absl::Milliseconds(50)});
  ASSERT_TRUE(server.StartGrpc().ok());
  auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server.grpc_port()), grpc::InsecureChannelCredentials());
  const auto deadline = std::chrono::system_clock::now() + std::chrono::minutes(1);
  ASSERT_TRUE(channel->WaitForConnected(deadline));
  EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, deadline)) << "still open after a minute";
}

TEST(ConnectionAgeTest, AnOldHttpConnectionIsClosedWithItsReply) {
  Server server({.http = "127.0.0.1:0", .admin = "", .max_connection_age = absl::Milliseconds(50)});
  ASSERT_TRUE(server.StartHttp().ok());
  httplib::Client http("127.0.0.1", server.http_port());
  http.set_keep_alive(true);
  for (int i = 0; i < 1000; ++i) {
    const auto reply = http.Get("/healthz");
    ASSERT_TRUE(reply);
    if (reply->get_header_value("Connection") == "close") return;
    absl::SleepFor(absl::Milliseconds(10));
  }
  FAIL() << "still open after ten seconds";
}

TEST(DeadEngineTest, IsToldOnce) {
  std::atomic<int> told = 0;
  TestServer server({}, {.on_dead_engine = [&told] { ++told; }});
  server.Start();
  server.engine().SetState(EngineState::kRecovering);
  absl::SleepFor(absl::Milliseconds(1200));
  EXPECT_EQ(told, 0);
  server.engine().SetState(EngineState::kDead);
  while (told == 0) absl::SleepFor(absl::Milliseconds(10));
  absl::SleepFor(absl::Milliseconds(1200));
  EXPECT_EQ(told, 1);
}

TEST(DrainTest, APortThatIsTakenIsAnError) {
  TestServer first;
  first.Start();
  Server second(
      {.listen = first.address(), .http = "127.0.0.1:" + std::to_string(first.http_port()), .admin = "127.0.0.1:0"});
  EXPECT_THAT(std::string(second.StartHttp().message()), HasSubstr("--http: cannot listen on 127.0.0.1:"));
  EXPECT_THAT(std::string(second.StartGrpc().message()), HasSubstr("--listen: cannot listen on 127.0.0.1:"));
}

}  // namespace
}  // namespace salient
