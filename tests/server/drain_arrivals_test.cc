// Calls that arrive while the server closes gRPC: whatever they meet on their way, they end as UNAVAILABLE, which
// clients send elsewhere, and never as CANCELLED, which they do not.

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Key;

constexpr char kMethod[] = "/salient.v1.Translation/TranslateDocument";

class Outcomes {
 public:
  void Count(const grpc::Status& status) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[status.error_code()];
  }
  std::map<grpc::StatusCode, int> counts() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<grpc::StatusCode, int> counts_;
};

TEST(DrainArrivalsTest, NoCallOfABusyClientIsCancelled) {
  constexpr int kServers = 20, kCallers = 8;
  Outcomes outcomes;
  for (int i = 0; i < kServers; ++i) {
    TestServer server;
    server.Start();
    std::atomic<bool> stopped = false;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&] {
        while (!stopped) {
          grpc::ClientContext context;
          v1::TranslateDocumentResponse response;
          outcomes.Count(server.stub().TranslateDocument(&context, RequestFor("text"), &response));
        }
      });
    }
    absl::SleepFor(absl::Milliseconds(5));
    EXPECT_EQ(server.server().Drain(kPatiently), 0);
    stopped = true;
    for (std::thread& caller : callers) caller.join();
  }
  EXPECT_THAT(outcomes.counts(), Each(Key(AnyOf(grpc::StatusCode::OK, grpc::StatusCode::UNAVAILABLE))));
  EXPECT_GT(outcomes.counts()[grpc::StatusCode::UNAVAILABLE], 0);
}

// The head of the call has arrived when the drain begins, its document has not.
TEST(DrainArrivalsTest, ADocumentThatIsStillArrivingIsRefused) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  };
  auto call = stub.PrepareCall(&context, kMethod, &queue);
  call->StartCall(nullptr);
  wait();
  absl::SleepFor(absl::Milliseconds(20));

  std::thread drainer([&] { EXPECT_EQ(server.server().Drain(kPatiently), 0); });
  while (!server.server().translator().in_flight().draining()) absl::SleepFor(absl::Milliseconds(1));
  absl::SleepFor(absl::Milliseconds(50));
  const std::string bytes = RequestFor("text").SerializeAsString();
  const grpc::Slice slice(bytes);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  drainer.join();
}

}  // namespace
}  // namespace salient
