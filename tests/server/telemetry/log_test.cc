#include "server/telemetry/log.h"

#include "gmock/gmock.h"
#include "grpc/support/log.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "salient/v1/translation.pb.h"

namespace salient {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

DocumentLine Line() {
  DocumentLine line;
  line.call = {{Client::Kind::kCertificate, "CN=a \"b\"\nc", {}}, "id-1", "", "http"};
  line.model = "en-de";
  line.operating_point = "fast";
  line.report.source_tokens = 12;
  line.total_seconds = 0.5;
  return line;
}

TEST(LogTest, ALineADocumentInJson) {
  DocumentLine line = Line();
  const auto json = nlohmann::json::parse(ToText(line, LogFormat::kJson));
  EXPECT_EQ(json["event"], "document");
  EXPECT_EQ(json["client"], "CN=a \"b\"\nc");
  EXPECT_EQ(json["client_kind"], "certificate");
  EXPECT_EQ(json["source_tokens"], 12);
  EXPECT_EQ(json["outcome"], "ok");
  EXPECT_EQ(json["priority"], "interactive");
  EXPECT_FALSE(json.contains("traceparent"));
  line.outcome = absl::StatusCode::kCancelled;
  EXPECT_FALSE(nlohmann::json::parse(ToText(line, LogFormat::kJson)).contains("source_tokens"));
}

TEST(LogTest, ARefusalSaysWhy) {
  DocumentLine line = Line();
  EXPECT_FALSE(nlohmann::json::parse(ToText(line, LogFormat::kJson)).contains("refusal"));
  line.outcome = absl::StatusCode::kResourceExhausted;
  line.refusal = "client_tokens";
  EXPECT_EQ(nlohmann::json::parse(ToText(line, LogFormat::kJson))["refusal"], "client_tokens");
}

// Whatever a client brings, a line stays one line.
TEST(LogTest, AndInText) {
  const std::string text = ToText(Line(), LogFormat::kText);
  EXPECT_THAT(text, HasSubstr("document request_id=\"id-1\""));
  EXPECT_THAT(text, HasSubstr("setting=\"fast\""));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

// A client that sends nonsense fills no log, and every line of a log in JSON is JSON.
TEST(LogTest, LibrariesWriteIntoTheSameLog) {
  StartLog("info", LogFormat::kJson);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as when gRPC starts
  testing::internal::CaptureStderr();
  v1::TranslateDocumentRequest request;
  EXPECT_FALSE(request.ParseFromString(std::string("\x12\x01\xff")));
  gpr_log(GPR_ERROR, "handshake of \"%s\"\nfailed", "somebody");
  const std::string written = testing::internal::GetCapturedStderr();
  const auto json = nlohmann::json::parse(written);
  EXPECT_EQ(json["message"], "gRPC: handshake of \"somebody\"\nfailed");
  EXPECT_EQ(json["level"], "warning");
}

}  // namespace
}  // namespace salient
