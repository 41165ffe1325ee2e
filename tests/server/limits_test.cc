// What a gRPC client cannot do to the server: each limit of StartGrpc, as a client meets it.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/completion_queue.h"
#include "tests/server/http2_client.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<grpc::Channel> ChannelTo(const TestServer& server, grpc::ChannelArguments arguments) {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  return grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments);
}

std::chrono::system_clock::time_point In(int seconds) {
  return std::chrono::system_clock::now() + std::chrono::seconds(seconds);
}

// A completion queue and the thread that drives it. A tag is the address of anything.
class Queue {
 public:
  Queue() : thread_([this] { Run(); }) {}
  ~Queue() {
    queue_.Shutdown();
    thread_.join();
  }
  grpc::CompletionQueue* get() { return &queue_; }

  // Until what was started with `tag` is done.
  void Wait(const void* tag) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, tag] { return done_.erase(tag) == 1; });
  }

 private:
  void Run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
      std::lock_guard lock(mutex_);
      done_.insert(tag);
      changed_.notify_all();
    }
  }

  grpc::CompletionQueue queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<const void*> done_;
  std::thread thread_;
};

// A call whose reply is not asked for until Finish: the client takes no more of it than a window holds.
class Call {
 public:
  Call(v1::Translation::Stub& stub, Queue& queue, const std::string& text) : queue_(queue) {
    context_.set_deadline(In(120));
    call_ = stub.AsyncTranslateDocument(&context_, RequestFor(text), queue.get());
    call_->ReadInitialMetadata(&context_);  // or the request would be sent by Finish
  }
  ~Call() {
    context_.TryCancel();
    if (!finished_) Finish();
    queue_.Wait(&context_);
  }
  grpc::Status Finish() {
    finished_ = true;
    grpc::Status status;
    call_->Finish(&reply_, &status, &reply_);
    queue_.Wait(&reply_);
    return status;
  }

 private:
  Queue& queue_;
  grpc::ClientContext context_;
  v1::TranslateDocumentResponse reply_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<v1::TranslateDocumentResponse>> call_;
  bool finished_ = false;
};

grpc::ChannelArguments SmallWindow() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 16);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

TEST(GrpcLimitsTest, AConnectionHasSoManyStreamsAndTheOthersWait) {
  constexpr int kStreams = 256;
  TestServer server({.automatic = false, .capacity = 10000});
  server.Start();
  const auto stub = v1::Translation::NewStub(ChannelTo(server, {}));
  Queue queue;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kStreams + 20; ++i) calls.push_back(std::make_unique<Call>(*stub, queue, "text"));
  server.engine().WaitForAdmitted(kStreams);
  absl::SleepFor(absl::Milliseconds(300));
  EXPECT_EQ(server.engine().admitted(), kStreams);
  const auto other = v1::Translation::NewStub(ChannelTo(server, {}));
  Call on_another_connection(*other, queue, "text");
  server.engine().WaitForAdmitted(kStreams + 1);
  for (int i = 0; i <= kStreams; ++i) server.engine().Finish(i);
  server.engine().WaitForAdmitted(kStreams + 21);
  for (int i = kStreams + 1; i < kStreams + 21; ++i) server.engine().Finish(i);
  for (const auto& call : calls) EXPECT_TRUE(call->Finish().ok());
  EXPECT_TRUE(on_another_connection.Finish().ok());
}

TEST(GrpcLimitsTest, AMessageIsBoundedByTheLargestDocument) {
  constexpr int64_t kDocument = 10000;
  TestServer server({}, kDocument);
  server.Start();
  const auto call = [&server](size_t bytes) {
    grpc::ClientContext context;
    v1::TranslateDocumentResponse reply;
    return server.stub().TranslateDocument(&context, RequestFor(std::string(bytes, 'a')), &reply);
  };
  EXPECT_TRUE(call(kDocument).ok());
  const grpc::Status large = call(kDocument + 1);
  EXPECT_EQ(large.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << "the server says what is wrong";
  EXPECT_THAT(large.error_message(), HasSubstr("--max-document-bytes"));
  EXPECT_EQ(call(2 * kDocument + (1 << 20) + 1).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << "gRPC does not take it in";
}

// What they are unpacked to has no bound.
TEST(GrpcLimitsTest, CompressedMessagesAreRefused) {
  TestServer server;
  server.Start();
  const auto call = [&server](grpc_compression_algorithm algorithm) {
    grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    v1::TranslateDocumentResponse reply;
    return server.stub().TranslateDocument(&context, RequestFor(std::string(10000, 'a')), &reply);
  };
  EXPECT_TRUE(call(GRPC_COMPRESS_NONE).ok());
  for (const grpc_compression_algorithm algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
    const grpc::Status refused = call(algorithm);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(refused.error_message(), HasSubstr("takes no compressed messages"));
  }
  EXPECT_EQ(server.engine().admitted(), 1);
}

TEST(GrpcLimitsTest, MetadataIsBounded) {
  TestServer server;
  server.Start();
  const auto call = [&server](size_t bytes) {  // on a connection of its own, since gRPC closes one that sent too much
    const auto stub = v1::Translation::NewStub(ChannelTo(server, {}));
    grpc::ClientContext context;
    context.AddMetadata("x-much", std::string(bytes, 'a'));
    v1::TranslateDocumentResponse reply;
    return stub->TranslateDocument(&context, RequestFor("text"), &reply);
  };
  EXPECT_TRUE(call(8 << 10).ok());
  EXPECT_EQ(call(20 << 10).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(call(8 << 10).ok()) << "the server is there as before";
}

TEST(GrpcLimitsTest, WhoPingsTooOftenIsDisconnected) {
  TestServer server;
  server.Start();
  grpc::ChannelArguments often;
  often.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20);
  often.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  often.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  const auto eager = ChannelTo(server, often), calm = ChannelTo(server, {});
  ASSERT_TRUE(eager->WaitForConnected(In(60)));
  ASSERT_TRUE(calm->WaitForConnected(In(60)));
  EXPECT_TRUE(eager->WaitForStateChange(GRPC_CHANNEL_READY, In(60)));
  EXPECT_EQ(calm->GetState(false), GRPC_CHANNEL_READY);
}

TEST(GrpcLimitsTest, AStreamThatNobodyReadsIsCancelled) {
  TestServer server({.automatic = false}, {.reader_patience = absl::Seconds(1)});
  server.Start();
  const auto stub = v1::Translation::NewStub(ChannelTo(server, SmallWindow()));
  grpc::ClientContext context;
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += std::string(32 << 10, 'a') + "\n";
  const auto stream = stub->StreamTranslateDocument(&context, RequestFor(lines));
  server.engine().WaitForAdmitted(1);
  for (int i = 0; i < 100; ++i) server.engine().Segment(0, i);  // more than a window holds, and it is not over
  server.engine().WaitForCancelled(1);
  v1::StreamTranslateDocumentResponse event;
  while (stream->Read(&event)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(GrpcLimitsTest, AReplyThatNobodyReadsIsCancelled) {
  TestServer server({}, {.reader_patience = absl::Seconds(1)});
  server.Start();
  Http2Client client(server.server().grpc_port());
  client.Call("/salient.v1.Translation/TranslateDocument", RequestFor(std::string(10'000, 'a')).SerializeAsString(),
              100);
  const std::optional<size_t> read = client.WaitForReset(absl::Seconds(20));
  ASSERT_TRUE(read.has_value()) << "the reply waits for its reader for ever";
  EXPECT_EQ(*read, 100u) << "the window, of 10,000 bytes";
}

TEST(GrpcLimitsTest, AStreamThatIsReadSlowlyGoesOn) {
  TestServer server({.automatic = false}, {.reader_patience = absl::Seconds(1)});
  server.Start();
  const auto stub = v1::Translation::NewStub(ChannelTo(server, SmallWindow()));
  grpc::ClientContext context;
  const auto stream = stub->StreamTranslateDocument(&context, RequestFor("one\ntwo"));
  server.engine().WaitForAdmitted(1);
  server.engine().Segment(0, 0);
  absl::SleepFor(absl::Seconds(3));  // nothing waits for the client: it owes nothing
  server.engine().Finish(0);
  v1::StreamTranslateDocumentResponse event;
  while (stream->Read(&event)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace salient
