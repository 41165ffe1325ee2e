// The RPCs as JSON over HTTP.

#include "server/http_api.h"

#include <cstdlib>
#include <regex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "server/http_reply.h"
#include "tests/server/test_server.h"
#include "tests/server/unread_reply.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HttpTest : public ::testing::Test {
 protected:
  // Fails the test rather than crash where there is no answer.
  httplib::Response Get(const std::string& path) {
    return Take(httplib::Client("127.0.0.1", port()).Get(path.c_str()));
  }
  httplib::Response Post(const std::string& body, const std::string& path = "/v1/translate",
                         const char* type = "application/json") {
    return Take(httplib::Client("127.0.0.1", port()).Post(path.c_str(), body, type));
  }
  std::string Metrics() { return Take(httplib::Client("127.0.0.1", server_.admin_port()).Get("/metrics")).body; }
  int port() { return server_.http_port(); }

  TestServer server_;

 private:
  static httplib::Response Take(const httplib::Result& result) {
    EXPECT_TRUE(result) << "no answer: " << result.error();
    return result ? *result : httplib::Response();
  }
};

nlohmann::json Error(const httplib::Response& response) { return nlohmann::json::parse(response.body)["error"]; }

TEST_F(HttpTest, BeforeTheModelsAreThere) {
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 503);
  const httplib::Response reply = Post(R"({"document": {"text": "text"}})");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(Error(reply)["message"], "the server is still loading its models");
}

TEST_F(HttpTest, Probes) {
  server_.Start();
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 200);
}

TEST_F(HttpTest, ProbesTellWhatTheEnginesAreDoing) {
  server_.Start();
  httplib::Client admin("127.0.0.1", server_.admin_port());
  const auto ask = [&](const char* path) { return admin.Get(path)->status; };
  server_.engine().SetState(EngineState::kRecovering);
  EXPECT_EQ(ask("/readyz"), 503);
  EXPECT_EQ(ask("/healthz"), 200);
  EXPECT_THAT(Metrics(), HasSubstr("salient_engine_state{model=\"fake\",state=\"recovering\"} 1"));
  server_.engine().SetState(EngineState::kDead);
  EXPECT_EQ(ask("/readyz"), 503);
  EXPECT_EQ(ask("/healthz"), 503);
  server_.engine().SetState(EngineState::kHealthy, /*turn_seconds=*/1e6);
  EXPECT_EQ(ask("/healthz"), 503);
  EXPECT_THAT(admin.Get("/healthz")->body, HasSubstr("--stall-limit"));
  server_.engine().SetState(EngineState::kHealthy);
  EXPECT_EQ(ask("/readyz"), 200);
  EXPECT_EQ(ask("/healthz"), 200);
}

TEST_F(HttpTest, ACallHasAnId) {
  server_.Start();
  httplib::Client client("127.0.0.1", port());
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const httplib::Headers headers = {{"X-Request-Id", "mine-1"}, {"traceparent", trace}};
  auto reply = client.Post("/v1/translate", headers, R"({"document": {"text": "a"}})", "application/json");
  EXPECT_EQ(reply->get_header_value("X-Request-Id"), "mine-1");
  EXPECT_EQ(reply->get_header_value("traceparent"), trace);
  reply = client.Post("/v1/translate", R"({"document": {"text": "a"}})", "application/json");
  EXPECT_EQ(reply->get_header_value("X-Request-Id").size(), 16u);
  // Every call has one, whatever comes of it.
  for (const httplib::Response& other :
       {Get("/v1/models"), Get("/nowhere"), Post("{not JSON"), Post(R"({"document": {}})"),
        *client.Post("/v1/translate", {{"Content-Encoding", "zstd"}}, "packed", "application/json")}) {
    EXPECT_EQ(other.get_header_value("X-Request-Id").size(), 16u) << other.status;
  }
  EXPECT_THAT(Metrics(), HasSubstr("salient_refusals_total{client=\"address\",reason=\"transport\"} 1"));
}

TEST_F(HttpTest, TranslatesJson) {
  server_.Start();
  const httplib::Response reply =
      Post(R"({"document": {"text": "größe\nzwei"}, "selection": {"policy": "RATIO", "value": 0.1}})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const nlohmann::json answer = nlohmann::json::parse(reply.body);
  EXPECT_EQ(answer["text"], "GRößE\nZWEI");
  EXPECT_EQ(answer["segments"].size(), 2);
  EXPECT_EQ(answer["report"]["attention_cost_ratio"], 0.07);
  EXPECT_EQ(answer["report"]["queue_seconds"], 0) << "zeros are told";
  EXPECT_EQ(answer["selection"]["policy"], "RATIO");
}

TEST_F(HttpTest, UnpacksBodies) {
  server_.Start();
  httplib::Client client("127.0.0.1", port());
  client.set_compress(true);
  const nlohmann::json request = {{"document", {{"text", std::string(100000, 'a')}}}};
  const auto reply = client.Post("/v1/translate", request.dump(), "application/json");
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->status, 200) << reply->body;
  EXPECT_EQ(nlohmann::json::parse(reply->body)["text"], std::string(100000, 'A'));
}

// What curl -d sends, which other servers take for a form.
TEST_F(HttpTest, TheContentTypeAndTheSizeOfABodyDoNotMatter) {
  server_.Start();
  const nlohmann::json request = {{"document", {{"text", std::string(100000, 'a')}}}};
  const httplib::Response reply = Post(request.dump(), "/v1/translate", "application/x-www-form-urlencoded");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(nlohmann::json::parse(reply.body)["text"], std::string(100000, 'A'));
}

TEST_F(HttpTest, ErrorsAreJson) {
  server_.Start();
  httplib::Response reply = Post(R"({"document": {"text": ""}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(Error(reply)["status"], "INVALID_ARGUMENT");
  EXPECT_EQ(Error(reply)["code"], 3);
  EXPECT_THAT(Error(reply)["message"].get<std::string>(), HasSubstr("document.text is empty"));

  reply = Post(R"({"document": {"txt": "a"}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(Error(reply)["message"].get<std::string>(),
              AllOf(HasSubstr("JSON"), HasSubstr("txt"), Not(HasSubstr("\n"))));
  EXPECT_EQ(Post("not JSON").status, 400);
  EXPECT_EQ(Post(R"({"model": "none", "document": {"text": "a"}})").status, 404);
  EXPECT_EQ(Post(R"({"document": {"text": "a"}})", "/v1/translate?timeout_seconds=soon").status, 400);

  reply = Get("/nowhere");
  EXPECT_EQ(reply.status, 404);
  EXPECT_THAT(Error(reply)["message"].get<std::string>(), HasSubstr("POST /v1/translate"));
}

TEST_F(HttpTest, ABodyAboveTheLimitIsRefused) {
  TestServer server({}, 1000);
  server.Start();
  httplib::Client client("127.0.0.1", server.http_port());
  const auto reply = client.Post("/v1/translate", std::string(2 << 20, 'a'), "application/json");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 413);
  EXPECT_THAT(Error(*reply)["message"].get<std::string>(), HasSubstr("--max-document-bytes"));
}

TEST(HttpCancelTest, AClientThatLeavesCancelsItsTranslation) {
  TestServer server({.automatic = false});
  server.Start();
  httplib::Client client("127.0.0.1", server.http_port());
  client.set_read_timeout(60);
  std::thread caller([&client] {
    EXPECT_FALSE(client.Post("/v1/translate", R"({"document": {"text": "text"}})", "application/json"));
  });
  server.engine().WaitForAdmitted(1);
  client.stop();
  server.engine().WaitForCancelled(1);
  caller.join();
}

TEST_F(HttpTest, ListsModels) {
  server_.Start();
  const nlohmann::json models = nlohmann::json::parse(Get("/v1/models").body);
  ASSERT_EQ(models["models"].size(), 1);
  EXPECT_EQ(models["models"][0]["name"], "fake");
  EXPECT_EQ(nlohmann::json::parse(Get("/v1/models/fake").body)["decoder_layers"], 6);
  EXPECT_EQ(Get("/v1/models/none").status, 404);
}

TEST_F(HttpTest, ThePageIsServed) {
  server_.Start();
  const auto page = Get("/");
  EXPECT_EQ(page.get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page.get_header_value("Content-Security-Policy"),
              AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self'")));
  EXPECT_EQ(page.get_header_value("X-Content-Type-Options"), "nosniff");
  // Whatever it loads is there, with a type that a browser takes.
  const std::regex loaded("(?:href|src)=\"(page/[^\"]+)\"");
  int files = 0;
  for (std::sregex_iterator found(page.body.begin(), page.body.end(), loaded), end; found != end; ++found, ++files) {
    const auto file = Get("/" + (*found)[1].str());
    EXPECT_EQ(file.status, 200) << (*found)[1];
    EXPECT_EQ(file.get_header_value("Content-Type"),
              (*found)[1].str().ends_with(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8");
  }
  EXPECT_EQ(files, 2);
  const std::string script = Get("/page/main.mjs").body;
  const std::regex imported("from '\\.(/[^']+)'");
  for (std::sregex_iterator found(script.begin(), script.end(), imported), end; found != end; ++found, ++files) {
    EXPECT_EQ(Get("/page" + (*found)[1].str()).status, 200) << (*found)[1];
  }
  EXPECT_EQ(files, 5);
  for (const char* path : {"/page", "/page/", "/page/none.mjs", "/page/index.html", "/page/../page/main.mjs"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
}

TEST_F(HttpTest, MetricsCountWhatHappened) {
  server_.Start();
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    v1::TranslateDocumentResponse response;
    ASSERT_TRUE(server_.stub().TranslateDocument(&context, RequestFor("text"), &response).ok());
  }
  Post(R"({"document": {"text": ""}})");
  Post(R"({"model": "none", "document": {"text": "a"}})");
  const std::string text = Metrics();
  EXPECT_THAT(text, HasSubstr("salient_requests_total{model=\"fake\",outcome=\"ok\"} 3"));
  EXPECT_THAT(text, HasSubstr("salient_requests_total{model=\"fake\",outcome=\"invalid_argument\"} 1"));
  EXPECT_THAT(text, HasSubstr("salient_requests_total{outcome=\"not_found\"} 1"));
  EXPECT_THAT(text, HasSubstr("salient_source_tokens_total{model=\"fake\"} 12"));
  EXPECT_THAT(text, HasSubstr("salient_target_tokens_total{model=\"fake\"} 12"));
  EXPECT_THAT(text, HasSubstr("salient_requests_running{model=\"fake\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_requests_waiting{model=\"fake\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_kv_cache_usage_ratio{model=\"fake\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_tokens_waiting{model=\"fake\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_oldest_waiting_seconds{model=\"fake\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_engine_state{model=\"fake\",state=\"healthy\"} 1"));
  EXPECT_THAT(text, HasSubstr("salient_limit{model=\"fake\",of=\"queued_documents\"} 1"));
  EXPECT_THAT(text, HasSubstr("salient_draining 0"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter"));
  const double start = std::atof(text.substr(text.find("\nprocess_start_time_seconds ") + 28).c_str());
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LE(start, now + 1);
  EXPECT_GE(start, now - 24 * 3600) << "the process of a test is young";
  EXPECT_THAT(text, HasSubstr("salient_deadline_missed_total{model=\"fake\",stage=\"queue\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_end_to_end_seconds_count{model=\"fake\"} 3"));
  EXPECT_THAT(text, HasSubstr("salient_queue_seconds_bucket{model=\"fake\",le=\"0.001\"} 3"));
  EXPECT_THAT(text, HasSubstr("salient_source_length_tokens_bucket{model=\"fake\",le=\"5\"} 3"));
  // Each document's tokens left after layer 2.
  EXPECT_THAT(text, HasSubstr("salient_exit_layer_bucket{model=\"fake\",le=\"1\"} 0"));
  EXPECT_THAT(text, HasSubstr("salient_exit_layer_bucket{model=\"fake\",le=\"2\"} 12"));
  EXPECT_THAT(text, HasSubstr("salient_exit_layer_sum{model=\"fake\"} 24"));
  EXPECT_THAT(text, HasSubstr("salient_attention_cost_ratio_sum{model=\"fake\"} 0.21"));
  EXPECT_THAT(text, HasSubstr("salient_attention_executed_ratio_sum{model=\"fake\"} 0.24"));
  EXPECT_THAT(text, HasSubstr("salient_keys_selected_ratio_count{model=\"fake\",module=\"cross\"} 3"));
}

// Of a counter that appears with its first value, Prometheus sees no increase: a burst of failures would not be
// counted.
TEST_F(HttpTest, WhatRulesReadIsZeroFromTheStart) {
  server_.Start();
  const std::string text = Metrics();
  EXPECT_THAT(text, HasSubstr("salient_requests_total{model=\"fake\",outcome=\"ok\"} 0"));
  for (const char* outcome :
       {"unknown", "data_loss", "unavailable", "deadline_exceeded", "internal", "resource_exhausted"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("salient_requests_total{model=\"fake\",outcome=\"", outcome, "\"} 0")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat("salient_requests_total{outcome=\"", outcome, "\"} 0")));
  }
  for (const char* reason : {"queue_full", "bytes", "client_documents"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("salient_refusals_total{client=\"address\",reason=\"", reason, "\"} 0")));
  }
}

TEST_F(HttpTest, RequestsThatCannotBeReadAreCounted) {
  server_.Start();
  Post("{not JSON");
  Post(R"({"document": {"text": "a"}})", "/v1/translate?timeout_seconds=soon");
  grpc::ClientContext context;
  v1::TranslateDocumentResponse response;
  server_.stub().TranslateDocument(&context, RequestFor("caf\xE9"), &response);
  grpc::ClientContext stream_context;
  auto stream = server_.stub().TranslateDocuments(&stream_context);
  v1::TranslateDocumentsRequest request;
  *request.mutable_request() = RequestFor("caf\xE9");
  stream->Write(request);
  stream->WritesDone();
  v1::TranslateDocumentsResponse reply;
  EXPECT_TRUE(stream->Read(&reply));
  EXPECT_TRUE(stream->Finish().ok());
  const std::string text = Metrics();
  EXPECT_THAT(text, HasSubstr("salient_requests_total{outcome=\"invalid_argument\"} 4"));
  EXPECT_THAT(text, HasSubstr("salient_refusals_total{client=\"address\",reason=\"other\"} 4"));
}

// It asks for no key, so a body would be taken from anybody.
TEST_F(HttpTest, AProbeTakesNoBody) {
  server_.Start();
  for (const char* path : {"/healthz", "/readyz"}) {
    const httplib::Response reply = Post(std::string(1 << 20, 'a'), path);
    EXPECT_EQ(reply.status, 400);
    EXPECT_THAT(Error(reply)["message"].get<std::string>(), HasSubstr(std::string(path) + ": takes no body"));
  }
}

TEST(HttpReplyTest, AMistakeOfTheServersIsNoInvalidArgument) {
  const nlohmann::json error = nlohmann::json::parse(TransportErrorReply(500, "failed").body)["error"];
  EXPECT_EQ(error["status"], "INTERNAL");
}

TEST(HttpReplyTest, ACodingThatIsNotReadIsUnimplemented) {
  for (const int status : {415, 501}) {
    EXPECT_TRUE(absl::IsUnimplemented(TransportError(status, "it is not read"))) << status;
  }
}

TEST(MetricsTest, TheStageOfAMissedDeadline) {
  TestServer server({.automatic = false});
  server.Start();
  const auto miss = [&server](int document, int progress_tokens) {
    std::thread caller([&server] {
      grpc::ClientContext context;
      v1::TranslateDocumentResponse response;
      server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    });
    server.engine().WaitForAdmitted(document + 1);
    if (progress_tokens >= 0) server.engine().Progress(document, 0, 1, progress_tokens);
    server.engine().Fail(document, absl::DeadlineExceededError("late"));
    caller.join();
  };
  miss(0, -1);
  miss(1, 0);
  miss(2, 5);
  httplib::Client http("127.0.0.1", server.admin_port());
  const std::string text = http.Get("/metrics")->body;
  for (const char* stage : {"queue", "encode", "decode"}) {
    EXPECT_THAT(text,
                HasSubstr("salient_deadline_missed_total{model=\"fake\",stage=\"" + std::string(stage) + "\"} 1"));
  }
}

TEST(MetricsTest, StepsAreObservedOnceTheModelIsKnown) {
  Metrics metrics;
  StepObserver observer;
  observer.OnStep(3, 0.5);  // before: nothing to observe it with
  observer.Attach(metrics.ForModel("m", 6));
  observer.OnStep(4, 0.01);
  EXPECT_THAT(metrics.Text(), HasSubstr("salient_batch_rows_count{model=\"m\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("salient_batch_rows_sum{model=\"m\"} 4"));
  observer.OnStall(0.004);
  observer.OnPreempt();
  EXPECT_THAT(metrics.Text(), HasSubstr("salient_step_seconds_bucket{model=\"m\",le=\"0.01\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("salient_stall_seconds_bucket{model=\"m\",le=\"0.005\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("salient_preemptions_total{model=\"m\"} 1"));
}

// A reply is in the server's memory until its client has taken it.
TEST(HttpUnreadTest, AReplyThatNobodyReadsCountsAsItsClients) {
  constexpr char kOnlyKey[] = "the-only-key-0123456";
  const TempFolder folder;
  WriteFile(folder / "keys", std::string(kOnlyKey) + " name=a documents=1\n");
  TestServer server({}, {.access = *Access::Open({.api_keys = folder / "keys"}), .guard = GuardMode::kOff});
  server.Start();
  const nlohmann::json large = {{"document", {{"text", std::string(4 << 20, 'a')}}}};
  const std::string small = R"({"document": {"text": "a"}})";
  UnreadReply client(server.http_port());
  ASSERT_EQ(client.Post("/v1/translate", large.dump(), kOnlyKey), "HTTP/1.1 200 OK");
  httplib::Client other("127.0.0.1", server.http_port());
  const auto refused = other.Post("/v1/translate", {{"X-API-Key", kOnlyKey}}, small, "application/json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_GE(client.Read(), size_t{12} << 20);
  EXPECT_EQ(client.Post("/v1/translate", small, kOnlyKey), "HTTP/1.1 200 OK");
}

}  // namespace
}  // namespace salient
