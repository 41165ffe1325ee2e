// The guard as clients see it: over gRPC and HTTP. The engine of the test writes in capitals, so that an identifier of
// the source is missing from its translation.

#include <string>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] = "All is well.\nCall read_file now.\n";

v1::TranslateDocumentResponse Translated(TestServer& server, v1::Guard guard) {
  v1::TranslateDocumentRequest request = RequestFor(kText);
  request.set_guard(guard);
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  const grpc::Status status = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(GuardApiTest, ReportNamesTheFaults) {
  TestServer server;
  server.Start();
  const v1::TranslateDocumentResponse response = Translated(server, v1::GUARD_REPORT);
  ASSERT_EQ(response.segments_size(), 2);
  EXPECT_EQ(response.guard(), v1::GUARD_REPORT);
  EXPECT_EQ(response.segments(0).check().faults_size(), 0);
  EXPECT_THAT(response.segments(1).check().faults(), ElementsAre(v1::FAULT_NAMES));
  EXPECT_GT(response.segments(1).check().quality(), 0);
  EXPECT_EQ(response.report().segments_flagged(), 1);
  EXPECT_EQ(server.engine().admitted(), 1);
}

TEST(GuardApiTest, OffChecksNothing) {
  TestServer server;
  server.Start();
  const v1::TranslateDocumentResponse response = Translated(server, v1::GUARD_OFF);
  EXPECT_EQ(response.guard(), v1::GUARD_OFF);
  EXPECT_FALSE(response.segments(1).has_check());
  EXPECT_EQ(response.report().segments_flagged(), 0);
}

TEST(GuardApiTest, RetryIsTheServersDefaultUnlessItIsStartedWithAnother) {
  TestServer server;
  server.Start();
  const v1::TranslateDocumentResponse response = Translated(server, v1::GUARD_UNSPECIFIED);
  EXPECT_EQ(response.guard(), v1::GUARD_RETRY);
  EXPECT_EQ(server.engine().admitted(), 2);
  EXPECT_EQ(server.engine().request(1).text, "Call read_file now.");
  EXPECT_EQ(response.segments(1).check().retry(), v1::RETRY_KEPT);  // in capitals again
  EXPECT_THAT(response.segments(1).check().first_faults(), ElementsAre(v1::FAULT_NAMES));
  EXPECT_EQ(response.report().segments_retried(), 1);
  EXPECT_EQ(response.report().segments_replaced(), 0);

  TestServer other({}, {.guard = GuardMode::kOff});
  other.Start();
  EXPECT_EQ(Translated(other, v1::GUARD_UNSPECIFIED).guard(), v1::GUARD_OFF);
}

TEST(GuardApiTest, WithAlternativesTheReplySaysThatItOnlyReports) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor(kText);
  request.mutable_search()->set_beam(2);
  request.mutable_search()->set_n_best(2);
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.stub().TranslateDocument(&context, request, &response).ok());
  EXPECT_EQ(response.guard(), v1::GUARD_REPORT);
  EXPECT_EQ(response.report().segments_flagged(), 1);
  EXPECT_EQ(server.engine().admitted(), 1);
}

TEST(GuardApiTest, DocumentsOfAFormatAreChecked) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_content("{\"a\": \"Call read_file now.\", \"b\": \"Call read_file now.\"}");
  request.mutable_document()->set_mime_type("application/json");
  request.mutable_memory()->set_repeats(true);
  request.set_guard(v1::GUARD_REPORT);
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(server.stub().TranslateDocument(&context, request, &response).ok());
  ASSERT_EQ(response.segments_size(), 2);
  for (const v1::TranslatedSegment& segment : response.segments()) {
    EXPECT_THAT(segment.check().faults(), ElementsAre(v1::FAULT_NAMES));
  }
}

TEST(GuardApiTest, StreamedSegmentsHaveTheirChecks) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, RequestFor(kText));
  v1::StreamTranslateDocumentResponse event;
  std::vector<v1::TranslatedSegment> segments;
  while (reader->Read(&event)) {
    if (event.has_segment()) segments.push_back(event.segment());
  }
  EXPECT_TRUE(reader->Finish().ok());
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[1].index(), 1);
  EXPECT_EQ(segments[1].check().retry(), v1::RETRY_KEPT);
}

TEST(GuardApiTest, OverHttp) {
  TestServer server;
  server.Start();
  httplib::Client client("127.0.0.1", server.http_port());
  constexpr char kRequest[] = R"({"document": {"text": "Call read_file."}, "guard": "GUARD_REPORT"})";
  const auto reply = client.Post("/v1/translate", kRequest, "application/json");
  ASSERT_TRUE(reply) << httplib::to_string(reply.error());
  ASSERT_EQ(reply->status, 200) << reply->body;
  const auto answer = nlohmann::json::parse(reply->body);
  EXPECT_EQ(answer["guard"], "GUARD_REPORT");
  EXPECT_EQ(answer["segments"][0]["check"]["faults"][0], "FAULT_NAMES");
}

TEST(GuardApiTest, AnUnknownModeIsRefusedByName) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("x");
  request.set_guard(static_cast<v1::Guard>(9));
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  const grpc::Status status = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("guard: 9 is none of"));
}

TEST(GuardApiTest, MetricsCountFaultsByKind) {
  TestServer server;
  server.Start();
  Translated(server, v1::GUARD_RETRY);
  httplib::Client client("127.0.0.1", server.admin_port());
  const auto metrics = client.Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("salient_faults_total{fault=\"names\",model=\"fake\"} 1"));
  EXPECT_THAT(metrics->body, HasSubstr("salient_faults_total{fault=\"numbers\",model=\"fake\"} 0"));
  EXPECT_THAT(metrics->body, HasSubstr("salient_segments_retried_total{model=\"fake\"} 1"));
  EXPECT_THAT(metrics->body, HasSubstr("salient_segments_replaced_total{model=\"fake\"} 0"));
}

}  // namespace
}  // namespace salient
