// TranslateDocuments: order, errors, flow control, cancellation.

#include "server/rpc/documents_call.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "tests/server/one_document_client.h"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

v1::TranslateDocumentsRequest Numbered(int number, const std::string& text) {
  v1::TranslateDocumentsRequest request;
  request.set_id(std::to_string(number));
  *request.mutable_request() = RequestFor(text);
  return request;
}

TEST(TranslateDocumentsTest, RepliesComeInTheOrderOfFinishing) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(Numbered(i, "text " + std::to_string(i))));
  server.engine().WaitForAdmitted(3);
  for (const int number : {2, 0, 1}) {
    server.engine().Finish(number);
    v1::TranslateDocumentsResponse reply;
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_EQ(reply.id(), std::to_string(number));
    EXPECT_EQ(reply.response().text(), "TEXT " + std::to_string(number));
    EXPECT_EQ(reply.response().segments_size(), 1);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

// Reads that overlap with writes, and the client's end with both: what a thread sanitizer looks at.
TEST(TranslateDocumentsTest, ManyShortStreamsEndWell) {
  TestServer server;
  server.Start();
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  for (int c = 0; c < 8; ++c) {
    clients.emplace_back([&] {
      for (int round = 0; round < 40; ++round) {
        grpc::ClientContext context;
        auto stream = server.stub().TranslateDocuments(&context);
        std::thread writer([&] {
          for (int i = 0; i < 5; ++i) stream->Write(Numbered(i, "text"));
          stream->WritesDone();
        });
        v1::TranslateDocumentsResponse reply;
        while (stream->Read(&reply)) ++answered;
        writer.join();
        EXPECT_TRUE(stream->Finish().ok());
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered, 8 * 40 * 5);
}

TEST(TranslateDocumentsTest, ADocumentThatFailsDoesNotEndTheStream) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  ASSERT_TRUE(stream->Write(Numbered(0, "")));
  ASSERT_TRUE(stream->Write(Numbered(1, "caf\xE9")));
  ASSERT_TRUE(stream->Write(Numbered(2, "good")));
  stream->WritesDone();
  std::map<std::string, v1::TranslateDocumentsResponse> replies;
  v1::TranslateDocumentsResponse reply;
  while (stream->Read(&reply)) replies[reply.id()] = reply;
  EXPECT_TRUE(stream->Finish().ok());
  ASSERT_EQ(replies.size(), 3);
  EXPECT_EQ(replies["0"].error().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_THAT(replies["0"].error().message(), HasSubstr("document.text is empty"));
  EXPECT_FALSE(replies["0"].error().has_retry_after_seconds());
  EXPECT_THAT(replies["1"].error().message(), HasSubstr("request.document.text: not UTF-8 at byte 3"));
  EXPECT_EQ(replies["2"].response().text(), "GOOD");
}

// The engine takes four documents at a time, the client sends a hundred at once: none is refused, and the server reads
// no further than the one that it holds.
TEST(TranslateDocumentsTest, AFullQueueSlowsTheReadingDown) {
  constexpr int kDocuments = 100;
  TestServer server({.automatic = false, .capacity = 4});
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  std::thread writer([&stream] {
    for (int i = 0; i < kDocuments; ++i) ASSERT_TRUE(stream->Write(Numbered(i, "document " + std::to_string(i))));
    stream->WritesDone();
  });
  std::set<std::string> ids;
  for (int i = 0; i < kDocuments; ++i) {
    server.engine().WaitForAdmitted(std::min(i + 4, kDocuments));
    // Documents are admitted in the order in which they were sent, and never more than the engine takes.
    EXPECT_LE(server.engine().admitted(), i + 4);
    EXPECT_EQ(server.engine().request(i).text, "document " + std::to_string(i));
    server.engine().Finish(i);
    v1::TranslateDocumentsResponse reply;
    ASSERT_TRUE(stream->Read(&reply));
    EXPECT_TRUE(reply.has_response()) << reply.error().message();
    ids.insert(reply.id());
  }
  writer.join();
  v1::TranslateDocumentsResponse reply;
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(ids.size(), kDocuments);
  EXPECT_EQ(server.engine().admitted(), kDocuments);
}

// Two streams share an engine that is full with the one's documents; the other's is held and gets its turn.
TEST(TranslateDocumentsTest, AHeldDocumentGoesInWhenAnotherStreamsFinishes) {
  TestServer server({.automatic = false, .capacity = 1});
  server.Start();
  grpc::ClientContext first_context, second_context;
  auto first = server.stub().TranslateDocuments(&first_context);
  ASSERT_TRUE(first->Write(Numbered(1, "first")));
  server.engine().WaitForAdmitted(1);
  auto second = server.stub().TranslateDocuments(&second_context);
  ASSERT_TRUE(second->Write(Numbered(2, "second")));
  second->WritesDone();
  server.engine().Finish(0);
  server.engine().WaitForAdmitted(2);
  server.engine().Finish(1);
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(second->Read(&reply));
  EXPECT_EQ(reply.response().text(), "SECOND");
  EXPECT_TRUE(second->Finish().ok());
  first->WritesDone();
  ASSERT_TRUE(first->Read(&reply));
  EXPECT_TRUE(first->Finish().ok());
}

TEST(TranslateDocumentsTest, AClientThatHasUsedUpItsTokensHoldsUpNobodyElse) {
  const TempFolder folder;
  WriteFile(folder / "keys",
            "the-first-key-0123456 name=limited tokens-per-minute=100\nthe-other-key-0123456 name=b\n");
  TestServer server({.automatic = false, .capacity = 1}, 4 << 20, *Access::Open({.api_keys = folder / "keys"}));
  server.Start();
  grpc::ClientContext limited_context, other_context;
  limited_context.AddMetadata("x-api-key", "the-first-key-0123456");
  other_context.AddMetadata("x-api-key", "the-other-key-0123456");
  auto limited = server.stub().TranslateDocuments(&limited_context);
  ASSERT_TRUE(limited->Write(Numbered(0, std::string(1000, 'a'))));  // more than it may have in a minute
  server.engine().WaitForAdmitted(1);
  ASSERT_TRUE(limited->Write(Numbered(1, "held")));
  auto other = server.stub().TranslateDocuments(&other_context);
  ASSERT_TRUE(other->Write(Numbered(2, "other")));
  other->WritesDone();
  server.engine().Finish(0);
  server.engine().WaitForAdmitted(2);
  EXPECT_EQ(server.engine().request(1).text, "other");
  server.engine().Finish(1);
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(other->Read(&reply));
  EXPECT_EQ(reply.response().text(), "OTHER");
  EXPECT_TRUE(other->Finish().ok());
  limited_context.TryCancel();
  limited->Finish();
}

// A client may open many streams; what is held of all of them is bounded.
TEST(TranslateDocumentsTest, HeldDocumentsTakeNoMoreMemoryThanThoseInFlight) {
  constexpr int kMaxBytes = 100000, kStreams = 20;  // half of 32 documents of that size is a client's
  TestServer server({.automatic = false, .capacity = 1}, kMaxBytes);
  server.Start();
  grpc::ClientContext running_context;
  auto running = server.stub().TranslateDocuments(&running_context);
  ASSERT_TRUE(running->Write(Numbered(0, "running")));
  server.engine().WaitForAdmitted(1);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<decltype(running)> held;
  for (int i = 0; i < kStreams; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    held.push_back(server.stub().TranslateDocuments(contexts.back().get()));
    ASSERT_TRUE(held.back()->Write(Numbered(i, std::string(kMaxBytes, 'a'))));
  }
  std::atomic<int> refused = 0;
  std::vector<std::thread> readers;
  for (auto& stream : held) {
    readers.emplace_back([&refused, &stream] {
      v1::TranslateDocumentsResponse reply;
      while (stream->Read(&reply)) {
        if (reply.error().code() != static_cast<int>(grpc::StatusCode::RESOURCE_EXHAUSTED)) continue;
        EXPECT_GT(reply.error().retry_after_seconds(), 0);
        ++refused;
      }
    });
  }
  for (int i = 0; i < 12000 && refused < 4; ++i) absl::SleepFor(absl::Milliseconds(5));
  for (auto& context : contexts) context->TryCancel();
  for (std::thread& reader : readers) reader.join();
  for (auto& stream : held) stream->Finish();
  EXPECT_GE(refused, 4);
  EXPECT_LE(refused, 6);
  running_context.TryCancel();
  running->Finish();
}

TEST(TranslateDocumentsTest, CancellingReachesEveryDocument) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(Numbered(i, "text")));
  server.engine().WaitForAdmitted(3);
  context.TryCancel();
  server.engine().WaitForCancelled(3);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(TranslateDocumentsTest, CancellingFreesAHeldDocument) {
  TestServer server({.automatic = false, .capacity = 1});
  server.Start();
  {
    grpc::ClientContext context;
    auto stream = server.stub().TranslateDocuments(&context);
    ASSERT_TRUE(stream->Write(Numbered(0, "running")));
    ASSERT_TRUE(stream->Write(Numbered(1, "held")));
    server.engine().WaitForAdmitted(1);
    context.TryCancel();
    server.engine().WaitForCancelled(1);
    stream->Finish();
  }
  // Were the held one still there, it would take the only place.
  EXPECT_EQ(server.server().Drain({.patience = absl::InfiniteDuration()}), 0);
}

TEST(TranslateDocumentsTest, AnEmptyStreamIsFine) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  stream->WritesDone();
  v1::TranslateDocumentsResponse reply;
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
}

// A client that sends and does not read: the server stops reading after a while rather than keep all replies.
TEST(TranslateDocumentsTest, UnreadRepliesStopTheReading) {
  constexpr int kDocuments = 300;
  // The engine's documents, the outbox, and some replies that gRPC has on their way.
  constexpr int kUnread = 40;
  const std::string text(100000, 'a');
  TestServer server({.capacity = 8});
  server.Start();
  // Windows that do not grow with the connection's delays, which are long where the machine is busy.
  grpc::ChannelArguments windows;
  windows.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  windows.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 16);
  const auto stub = v1::Translation::NewStub(
      grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), windows));
  grpc::ClientContext context;
  auto stream = stub->TranslateDocuments(&context);
  std::thread writer([&stream, &text] {
    for (int i = 0; i < kDocuments; ++i) ASSERT_TRUE(stream->Write(Numbered(i, text)));
    stream->WritesDone();
  });
  int replies = 0;
  v1::TranslateDocumentsResponse reply;
  while (stream->Read(&reply)) {
    ++replies;
    EXPECT_LE(server.engine().admitted(), replies + kUnread);
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(replies, kDocuments);
}

TEST(TranslateDocumentsTest, ARepliesMemoryCountsAsTheClientsUntilItIsRead) {
  const OneDocumentClient client;
  TestServer server({.automatic = false}, {.access = client.access(), .guard = GuardMode::kOff});
  server.Start();
  const auto stub = client.StubOf(server);
  grpc::ClientContext context;
  client.Introduce(context);
  auto stream = stub->TranslateDocuments(&context);
  ASSERT_TRUE(stream->Write(Numbered(0, std::string(1 << 20, 'a'))));
  server.engine().WaitForAdmitted(1);
  server.engine().Finish(0);
  ASSERT_EQ(client.Call(*stub).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(stream->Write(Numbered(1, "waits for the first one's place")));
  stream->WritesDone();
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.id(), "0");
  server.engine().WaitForAdmitted(2);
  server.engine().Finish(1);
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_TRUE(reply.has_response()) << reply.error().message();
  EXPECT_TRUE(stream->Finish().ok());
}

// What is refused counts as nobody's, and its reply repeats the id.
TEST(TranslateDocumentsTest, AnIdIsBounded) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto stream = server.stub().TranslateDocuments(&context);
  v1::TranslateDocumentsRequest request = Numbered(0, "text");
  std::string id = "x";
  for (int i = 0; i < 1000; ++i) id += "ö";
  request.set_id(id);
  ASSERT_TRUE(stream->Write(request));
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.error().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_THAT(reply.error().message(), HasSubstr("id: has 2001 bytes"));
  EXPECT_EQ(reply.id(), id.substr(0, 1023)) << "its whole characters";
  request.set_id("id\xFF");
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&reply)) << "the reply is UTF-8";
  EXPECT_THAT(reply.error().message(), HasSubstr("id: not UTF-8 at byte 2"));
  EXPECT_EQ(reply.id(), "id");
  request.set_id(id.substr(0, 1023));
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_EQ(reply.response().text(), "TEXT") << reply.error().message();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace salient
