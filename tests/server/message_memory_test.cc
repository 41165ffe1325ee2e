// What gRPC may hold of messages that arrive (the resource quota of StartGrpc), against clients that begin messages and
// never end them.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "tests/server/http2_client.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

constexpr size_t kQuota = 256 << 20;  // the server's, with documents of the usual size
constexpr size_t kMessage = 8 << 20;  // of 9 MiB that a message may have then
constexpr int kClients = 64;          // twice the quota in all

size_t ResidentBytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

grpc::Status TranslateOnce(const TestServer& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  const auto stub = v1::Translation::NewStub(
      grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  v1::TranslateDocumentResponse reply;
  return stub->TranslateDocument(&context, RequestFor("text"), &reply);
}

TEST(MessageMemoryTest, MessagesThatDoNotEndAreBoundedInAllAndOthersAreAnswered) {
  TestServer server;
  server.Start();
  ASSERT_TRUE(TranslateOnce(server).ok());
  const size_t before = ResidentBytes();
  struct Sender {
    std::unique_ptr<Http2Client> client;
    size_t sent = 0;
  };
  std::vector<Sender> senders;
  size_t greatest = before;
  int held_back = 0;
  for (int i = 0; i < kClients && held_back < 3; ++i) {
    auto client = std::make_unique<Http2Client>(server.server().grpc_port());
    const size_t sent =
        client->CallWithoutEnd("/salient.v1.Translation/TranslateDocument", kMessage, absl::Seconds(10));
    held_back += sent < kMessage ? 1 : 0;
    senders.push_back({std::move(client), sent});
    greatest = std::max(greatest, ResidentBytes());
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers have memory of their own
  EXPECT_LE(greatest - before, kQuota + kQuota / 2) << "with what the allocator keeps";
#endif
  // gRPC ends calls in the background: on a busy machine a client hears of it later.
  size_t held = 0;
  const absl::Time end = absl::Now() + absl::Seconds(30);
  do {
    absl::SleepFor(absl::Milliseconds(10));
    held = 0;
    for (const Sender& sender : senders) held += sender.client->Ended() ? 0 : sender.sent;
  } while (held > kQuota + kMessage && absl::Now() < end);
  EXPECT_LE(held, kQuota + kMessage) << "of messages that the server has not given up";
  EXPECT_GE(held, kQuota / 2) << "nobody is ended before the memory is used";

  int answered = 0;
  for (int i = 0; i < 10; ++i) answered += TranslateOnce(server).ok() ? 1 : 0;
  EXPECT_GE(answered, 9);
  httplib::Client admin("127.0.0.1", server.admin_port());
  const auto ready = admin.Get("/readyz");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, 200);
}

}  // namespace
}  // namespace salient
