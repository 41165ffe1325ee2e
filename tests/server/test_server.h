// A complete server on free loopback ports, with engines of the test, and a client.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "salient/v1/translation.grpc.pb.h"
#include "server/server.h"
#include "tests/server/fake_engine.h"

namespace salient {

// Waits for all documents.
inline constexpr DrainOptions kPatiently = {.patience = absl::InfiniteDuration()};

class TestServer {
 public:
  explicit TestServer(const FakeEngineOptions& options = {}, int64_t max_document_bytes = 4 << 20,
                      std::shared_ptr<const Access> access = std::make_shared<Access>())
      : TestServer(options, {.access = std::move(access), .max_document_bytes = max_document_bytes}) {}

  // On free ports, whatever the options say.
  TestServer(const FakeEngineOptions& options, ServerOptions server) : server_(OnFreePorts(std::move(server))) {
    EXPECT_TRUE(server_.StartHttp().ok());
    engine_ = AddEngine(options);
  }

  // Call it before Start.
  FakeEngine* AddEngine(const FakeEngineOptions& options) {
    auto engine = std::make_unique<FakeEngine>(options);
    FakeEngine* const pointer = engine.get();
    EXPECT_TRUE(server_.AddModel(std::move(engine), {.max_queued_documents = FakeEngine::kMaxQueued}, nullptr).ok());
    return pointer;
  }

  TestServer& Start() {
    const absl::Status status = server_.StartGrpc();
    EXPECT_TRUE(status.ok()) << status;
    channel_ = grpc::CreateChannel(address(), grpc::InsecureChannelCredentials());
    stub_ = v1::Translation::NewStub(channel_);
    return *this;
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server_.grpc_port()); }
  int http_port() const { return server_.http_port(); }
  int admin_port() const { return server_.admin_port(); }
  Server& server() { return server_; }
  FakeEngine& engine() { return *engine_; }
  v1::Translation::Stub& stub() { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }

 private:
  static ServerOptions OnFreePorts(ServerOptions options) {
    options.listen = options.http = options.admin = "127.0.0.1:0";
    return options;
  }

  Server server_;
  FakeEngine* engine_ = nullptr;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Translation::Stub> stub_;
};

inline v1::TranslateDocumentRequest RequestFor(const std::string& text) {
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_text(text);
  return request;
}

}  // namespace salient
