// The RPCs about models, and the standard services beside ours: health and reflection.

#include "server/rpc/service.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelsTest, AreListed) {
  TestServer server;
  server.AddEngine({.name = "back", .source_language = "de", .target_language = "en"});
  server.Start();
  grpc::ClientContext context;
  v1::ListModelsResponse models;
  ASSERT_TRUE(server.stub().ListModels(&context, {}, &models).ok());
  ASSERT_EQ(models.models_size(), 2);
  EXPECT_EQ(models.models(0).name(), "fake");
  EXPECT_EQ(models.models(1).source_language(), "de");
}

TEST(ModelsTest, AreDescribed) {
  FakeEngineOptions options;
  OperatingPoint point;
  point.name = "fast";
  point.bleu = 28.5;
  point.options.depth.policy = DepthPolicy::kGeometric;
  point.options.depth.thresholds = {0.4};
  options.points = {point};
  TestServer server(options);
  server.Start();
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_name("fake");
  v1::Model model;
  ASSERT_TRUE(server.stub().GetModel(&context, request, &model).ok());
  EXPECT_EQ(model.encoder_layers(), 6);
  EXPECT_EQ(model.parameters(), 12345678);
  EXPECT_EQ(model.chunk_tokens(), 1024);
  EXPECT_EQ(model.device(), "fake");
  EXPECT_EQ(model.description(), "Writes in capitals.");
  EXPECT_THAT(model.exits(), ElementsAre(1, 2, 3, 4, 5, 6));
  // The fake has a geometric head and neither of the others.
  EXPECT_THAT(model.depth_policies(),
              ElementsAre(v1::DepthControls::FULL, v1::DepthControls::FIXED, v1::DepthControls::GEOMETRIC,
                          v1::DepthControls::CONFIDENCE, v1::DepthControls::VERIFY));
  EXPECT_THAT(model.selection_policies(),
              ElementsAre(v1::SelectionControls::DENSE, v1::SelectionControls::LEARNED, v1::SelectionControls::RATIO,
                          v1::SelectionControls::MASS, v1::SelectionControls::WINDOW));
  ASSERT_EQ(model.operating_points_size(), 1);
  EXPECT_EQ(model.operating_points(0).name(), "fast");
  EXPECT_DOUBLE_EQ(model.operating_points(0).bleu(), 28.5);
  EXPECT_THAT(model.operating_points(0).depth().thresholds(), ElementsAre(0.4));
}

TEST(ModelsTest, OneThatIsNotThereIsNotFound) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  v1::GetModelRequest request;
  request.set_name("none");
  v1::Model model;
  const grpc::Status status = server.stub().GetModel(&context, request, &model);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("this server has fake (en to de)"));
}

TEST(ModelsTest, TwoOfOneNameAreRefused) {
  TestServer server;
  const absl::Status status = server.server().AddModel(std::make_unique<FakeEngine>(FakeEngineOptions{}),
                                                       {.model_folder = "models/other"}, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("models/other"));
}

// A unary call by name, with bytes for messages: what grpcurl and health probes do.
grpc::Status CallByName(TestServer& server, const std::string& method, const std::string& request, std::string* reply) {
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  grpc::Slice slice(request);
  auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer bytes;
  grpc::Status status;
  call->Finish(&bytes, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  std::vector<grpc::Slice> slices;
  if (status.ok() && bytes.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices) reply->append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return status;
}

TEST(ModelsTest, AMessageThatIsNoneIsToldSo) {
  TestServer server;
  server.Start();
  std::string reply;
  const std::string bad_name = "\x0A\x02z\xFF";
  const grpc::Status name = CallByName(server, "/salient.v1.Translation/GetModel", bad_name, &reply);
  EXPECT_EQ(name.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(name.error_message(), HasSubstr("name: not UTF-8 at byte 1"));
  const grpc::Status garbage = CallByName(server, "/salient.v1.Translation/ListModels", "\xFF", &reply);
  EXPECT_EQ(garbage.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(garbage.error_message(), HasSubstr("are not a salient.v1.ListModelsRequest"));
}

TEST(HealthTest, ServesForTheServerAndTheService) {
  TestServer server;
  server.Start();
  // HealthCheckRequest{service} and HealthCheckResponse{status}; SERVING is 1.
  for (const std::string service : {"", "salient.v1.Translation", "salient.v1.Translation/fake"}) {
    const std::string request =
        service.empty() ? "" : std::string("\x0A") + static_cast<char>(service.size()) + service;
    std::string reply;
    ASSERT_TRUE(CallByName(server, "/grpc.health.v1.Health/Check", request, &reply).ok());
    EXPECT_EQ(reply, "\x08\x01");
  }
}

// The bytes of a ServerReflectionResponse.
std::string Reflected(TestServer& server, const std::string& request) {
  grpc::GenericStub stub(server.channel());
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  void* tag = nullptr;
  bool ok = false;
  auto call = stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  queue.Next(&tag, &ok);
  const grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  queue.Next(&tag, &ok);
  grpc::ByteBuffer bytes;
  call->Read(&bytes, nullptr);
  queue.Next(&tag, &ok);
  EXPECT_TRUE(ok);
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  std::string reply;
  for (const grpc::Slice& part : slices) reply.append(reinterpret_cast<const char*>(part.begin()), part.size());
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  queue.Next(&tag, &ok);
  return reply;
}

TEST(ReflectionTest, NamesTheServices) {
  TestServer server;
  server.Start();
  const std::string reply = Reflected(server, "\x3A\x01*");  // ServerReflectionRequest{list_services: "*"}, field 7
  EXPECT_THAT(reply, HasSubstr("salient.v1.Translation"));
  EXPECT_THAT(reply, HasSubstr("grpc.health.v1.Health"));
}

TEST(ReflectionTest, DescribesEveryServiceThatAClientCalls) {
  TestServer server;
  server.Start();
  const std::pair<std::string, std::string> described[] = {{"salient.v1.Translation", "TranslateDocumentRequest"},
                                                           {"grpc.health.v1.Health", "HealthCheckResponse"}};
  for (const auto& [service, message] : described) {
    // ServerReflectionRequest{file_containing_symbol: service}, field 4.
    EXPECT_THAT(Reflected(server, std::string("\x22") + static_cast<char>(service.size()) + service),
                HasSubstr(message));
  }
}

TEST(WireTest, BytesThatAreNoMessageSayWhichMessageWasMeant) {
  TestServer server;
  server.Start();
  std::string reply;
  const grpc::Status status =
      CallByName(server, "/salient.v1.Translation/TranslateDocument", std::string("\x0A\xFF\xFF\xFF", 4), &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "the request's 4 bytes are not a salient.v1.TranslateDocumentRequest; was it cut off or made from another "
            ".proto?");
}

}  // namespace
}  // namespace salient
