// A gRPC client that may have one document at once, and that takes no more of a reply than 64 KiB before it is read.

#pragma once

#include <chrono>
#include <memory>

#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {

class OneDocumentClient {
 public:
  OneDocumentClient() { WriteFile(folder_ / "keys", std::string(kKey) + " name=one documents=1\n"); }

  // The server's, which knows no other client.
  std::shared_ptr<const Access> access() const {
    auto access = Access::Open({.api_keys = folder_ / "keys"});
    EXPECT_TRUE(access.ok()) << access.status();
    return *access;
  }

  std::unique_ptr<v1::Translation::Stub> StubOf(const TestServer& server) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the window does not grow
    arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 16);
    arguments.SetMaxReceiveMessageSize(-1);
    return v1::Translation::NewStub(
        grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
  }

  void Introduce(grpc::ClientContext& context) const { context.AddMetadata("x-api-key", kKey); }

  // What becomes of a small document. If it is taken, that is seen at its deadline.
  grpc::Status Call(v1::Translation::Stub& stub) const {
    grpc::ClientContext context;
    Introduce(context);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::TranslateDocumentResponse reply;
    return stub.TranslateDocument(&context, RequestFor("text"), &reply);
  }

 private:
  static constexpr char kKey[] = "the-only-key-0123456";
  const TempFolder folder_;
};

}  // namespace salient
