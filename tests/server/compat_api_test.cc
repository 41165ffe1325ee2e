// The APIs of other services over HTTP: the door, documents of real formats, what is refused before it is read.

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "server/http_api.h"
#include "tests/server/compat/compat_server.h"
#include "tests/server/unread_reply.h"

namespace salient {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CompatApiTest, OnlyWithTheFlag) {
  TestServer server;
  server.Start();
  httplib::Client client("127.0.0.1", server.http_port());
  const auto reply = client.Post("/v2/translate", R"({"text": "a", "target_lang": "DE"})", "application/json");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 404);
}

TEST(CompatApiTest, TagsAreWhereTheyWere) {
  CompatServer server;
  const httplib::Response deepl =
      server.Post("/v2/translate", {{"text", {"Press <x id=\"0\"></x> to <b>save</b> &amp; go."}},
                                    {"target_lang", "DE"},
                                    {"tag_handling", "xml"},
                                    {"ignore_tags", {"x"}}});
  ASSERT_EQ(deepl.status, 200) << deepl.body;
  EXPECT_EQ(server.Json(deepl)["translations"][0]["text"], "PRESS <x id=\"0\"></x> TO <b>SAVE</b> &amp; GO.");
  const httplib::Response google = server.Post(
      "/v3/projects/p:translateText", {{"contents", {"a <i class=\"x\">b</i> c"}}, {"targetLanguageCode", "de"}});
  EXPECT_EQ(server.Json(google)["translations"][0]["translatedText"], "A <i class=\"x\">B</i> C");
  const httplib::Response wrong =
      server.Post("/v2/translate", {{"text", "a < b"}, {"target_lang", "DE"}, {"tag_handling", "xml"}});
  EXPECT_EQ(wrong.status, 400);
  EXPECT_THAT(server.Json(wrong)["message"].get<std::string>(), HasSubstr("not well-formed XML"));
  EXPECT_EQ(server.Json(server.Get("/v1/models"))["models"].size(), 1u) << "our own API is there, too";
}

// As Weblate sends it.
TEST(CompatApiTest, LineBreaksBetweenTagsAreWhereTheyWere) {
  CompatServer server;
  json body = {{"text", {"Dear <x id=\"1\">John</x>,\n\nthe server is running.\n\nRegards,\nMary"}},
               {"target_lang", "DE"},
               {"tag_handling", "xml"},
               {"ignore_tags", {"x"}}};
  const auto translated = [&] {
    return server.Json(server.Post("/v2/translate", body))["translations"][0].value("text", "");
  };
  EXPECT_EQ(translated(), "DEAR <x id=\"1\">John</x>,\n\nTHE SERVER IS RUNNING.\n\nREGARDS,\nMARY");
  body["split_sentences"] = "nonewlines";
  EXPECT_EQ(translated(), "DEAR <x id=\"1\">John</x>, THE SERVER IS RUNNING. REGARDS, MARY");
}

TEST(CompatApiTest, AFileThereAndBack) {
  CompatServer server;
  const httplib::MultipartFormDataItems items = {
      {"source", "en", "", ""}, {"target", "de", "", ""}, {"file", "# A *b*\n\n`c` d\n", "notes.md", "text/markdown"}};
  const httplib::Response reply = server.PostFile("/translate_file", items);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::string url = server.Json(reply)["translatedFileUrl"];
  const httplib::Response file = server.Get(url.substr(url.find("/download_file/")));
  EXPECT_EQ(file.body, "# A *B*\n\n`c` D\n");
}

class CompatApiGlossaryTest : public ::testing::Test {
 protected:
  static ServerOptions Options(const std::string& folder) {
    WriteFile(folder + "/keys", "key-of-one-0123456789 name=one\nkey-of-two-0123456789 name=two\n");
    auto access = Access::Open({.api_keys = folder + "/keys"});
    EXPECT_TRUE(access.ok()) << access.status();
    return {.glossary_uploads = folder,
            .access = *access,
            .resources = std::make_shared<LanguageResources>(folder, std::vector<std::string>())};
  }
  static httplib::Headers KeyOf(const std::string& client) {
    return {{"Authorization", "Bearer key-of-" + client + "-0123456789"}};
  }
  // The id of the glossary that client "one" has made.
  std::string Made() const {
    const httplib::Response made = server_.Post("/v2/glossaries",
                                                {{"name", "a"},
                                                 {"source_lang", "en"},
                                                 {"target_lang", "de"},
                                                 {"entries", "data base\tDatenbank\n"},
                                                 {"entries_format", "tsv"}},
                                                KeyOf("one"));
    EXPECT_EQ(made.status, 201) << made.body;
    return server_.Json(made).value("glossary_id", "");
  }

  const TempFolder folder_;
  CompatServer server_{{}, Options(folder_.path())};
};

TEST_F(CompatApiGlossaryTest, NoFieldOfARequestNamesOneOfAClient) {
  const std::string id = Made();
  const httplib::Response used = server_.Post(
      "/v2/translate", {{"text", {"Open the data base."}}, {"target_lang", "DE"}, {"glossary_id", id}}, KeyOf("one"));
  EXPECT_EQ(server_.Json(used)["translations"][0]["text"], "OPEN THE Datenbank.") << used.body;
  for (const std::string client : {"one", "two"}) {
    for (const std::string& name : {id, "uploads/" + id, "./uploads/" + id}) {
      const json controls = {{"glossary", {{"name", name}}}};
      httplib::Headers with_header = KeyOf(client);
      with_header.emplace("X-Salient-Controls", controls.dump());
      json deepl = {{"text", {"Open the data base."}}, {"target_lang", "DE"}};
      json google = {{"contents", {"Open the data base."}}, {"targetLanguageCode", "de"}, {"mimeType", "text/plain"}};
      json libre = {{"q", "Open the data base."}, {"source", "en"}, {"target", "de"}};
      EXPECT_EQ(server_.Post("/v2/translate", deepl, with_header).status, 404);
      for (auto& [path, body] :
           {std::pair("/v2/translate", &deepl), {"/v3/projects/p:translateText", &google}, {"/translate", &libre}}) {
        (*body)["salient"] = controls;
        const httplib::Response refused = server_.Post(path, *body, KeyOf(client));
        EXPECT_EQ(refused.status, 404) << path << ": " << refused.body;
      }
      const httplib::Response ours = server_.Post(
          "/v1/translate", {{"document", {{"text", "Open the data base."}}}, {"glossary", {{"name", name}}}},
          KeyOf(client));
      EXPECT_EQ(ours.status, 404) << ours.body;
      grpc::ClientContext context;
      context.AddMetadata("authorization", "Bearer key-of-" + client + "-0123456789");
      v1::TranslateDocumentRequest request = RequestFor("Open the data base.");
      request.mutable_glossary()->set_name(name);
      v1::TranslateDocumentResponse response;
      EXPECT_EQ(server_.stub().TranslateDocument(&context, request, &response).error_code(),
                grpc::StatusCode::NOT_FOUND);
      grpc::ClientContext of_stream;
      of_stream.AddMetadata("authorization", "Bearer key-of-" + client + "-0123456789");
      EXPECT_EQ(server_.stub().StreamTranslateDocument(&of_stream, request)->Finish().error_code(),
                grpc::StatusCode::NOT_FOUND);
    }
  }
}

TEST_F(CompatApiGlossaryTest, TermsOfTheServersCanBeRead) {
  WriteFile(folder_ / "it.tsv", "server\tServer\tci\ndata base\tDatenbank\n");
  EXPECT_EQ(server_.Get("/v2/glossaries/it/entries", KeyOf("one")).body, "server\tServer\ndata base\tDatenbank\n");
}

TEST(CompatApiTest, KeysOfEachService) {
  CompatServer server({}, 4 << 20, AccessWithKey());
  const json deepl = {{"text", "a"}, {"target_lang", "DE"}};
  EXPECT_EQ(server.Post("/v2/translate", deepl).status, 403);
  EXPECT_EQ(server.Post("/v2/translate", deepl, {{"Authorization", std::string("DeepL-Auth-Key ") + kTestKey}}).status,
            200);
  const std::string form = "q=a&source=en&target=de";
  EXPECT_EQ(server.PostForm("/translate", form).status, 403);
  EXPECT_EQ(server.PostForm("/translate", form + "&api_key=" + kTestKey).status, 200);
  const json google = {{"contents", {"a"}}, {"targetLanguageCode", "de"}};
  EXPECT_EQ(server.Post("/v3/projects/p:translateText", google).status, 401);
  EXPECT_EQ(server.Post("/v3/projects/p:translateText", google, {{"x-goog-api-key", kTestKey}}).status, 200);
  const std::string large = form + "&x=" + std::string(100 << 10, 'x');
  EXPECT_EQ(server.PostForm("/translate", large + "&api_key=" + kTestKey).status, 403);
  EXPECT_EQ(server.PostForm(std::string("/translate?api_key=") + kTestKey, large).status, 200);
}

// Before the body, whose memory is one client's, and whose connection is one that makes no room for others.
TEST(CompatApiTest, SendersByTheKeysOfEachService) {
  Metrics metrics;
  const ModelRegistry models(metrics);
  Translator translator(models, metrics, {});
  Health health(models, absl::Seconds(60));
  health.Set(Readiness::kServing);
  const auto access = AccessWithKey();
  HttpApi api(translator, *access, health, {.compat = true});
  const auto sender = [&](const std::string& target, const std::string& name = "", const std::string& value = "") {
    HttpRequest request;
    request.method = "POST";
    request.peer_address = "192.0.2.1";
    if (target != "/healthz") request.headers["Content-Length"] = "10";  // a probe has no body
    if (!name.empty()) request.headers[name] = value;
    EXPECT_TRUE(ParseTarget(target, request));
    const auto found = std::get<HttpHandler::Sender>(api.Admit(request));
    EXPECT_EQ(found.known, found.id.starts_with("key:")) << target;
    return found.id;
  };
  const std::string key = kTestKey, google = "/v3/projects/p:translateText";
  EXPECT_EQ(sender("/v1/translate", "Authorization", "Bearer " + key), "key:tester");
  EXPECT_EQ(sender("/v2/translate", "Authorization", "DeepL-Auth-Key " + key), "key:tester");
  EXPECT_EQ(sender(google, "x-goog-api-key", key), "key:tester");
  EXPECT_EQ(sender(google + "?key=" + key), "key:tester");
  EXPECT_EQ(sender("/translate?api_key=" + key), "key:tester");
  EXPECT_EQ(sender("/translate"), "address:192.0.2.1") << "its key may be in its body";
  EXPECT_EQ(sender("/healthz"), "address:192.0.2.1");
}

TEST(CompatApiTest, WhatTheTransportRefusesIsCountedAsItsClients) {
  CompatServer server({}, 1000, AccessWithKey());
  const std::string authorization = std::string("DeepL-Auth-Key ") + kTestKey;
  EXPECT_EQ(server.PostForm("/v2/translate", std::string(2 << 20, 'a'), {{"Authorization", authorization}}).status,
            413);
  const auto metrics = httplib::Client("127.0.0.1", server.admin_port()).Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("salient_refusals_total{client=\"key\",reason=\"transport\"} 1"));
}

TEST(CompatApiTest, EveryReplyHasTheIdOfItsRequest) {
  CompatServer server({}, 1000, AccessWithKey());
  const json body = {{"text", "a"}, {"target_lang", "DE"}};
  const std::string authorization = std::string("DeepL-Auth-Key ") + kTestKey;
  const httplib::Headers known = {{"Authorization", authorization}, {"X-Request-Id", "mine-1"}};
  const auto id = [](const httplib::Response& reply, int status) {
    EXPECT_EQ(reply.status, status) << reply.body;
    return reply.get_header_value("X-Request-Id");
  };
  EXPECT_EQ(id(server.Post("/v2/translate", body, known), 200), "mine-1");
  EXPECT_EQ(id(server.Post("/v2/translate", json::object(), known), 400), "mine-1");
  EXPECT_EQ(id(server.PostForm("/v2/translate", std::string(2 << 20, 'a'), known), 413), "mine-1");
  EXPECT_EQ(id(server.Post("/v2/translate", body, {{"X-Request-Id", "mine-2"}}), 403), "mine-2");
  EXPECT_EQ(id(server.Post("/v2/translate", body, {{"Authorization", authorization}}), 200).size(), 16u);
}

TEST(CompatApiTest, ABodyAboveTheLimitIsRefusedInTheServicesShape) {
  CompatServer server({}, 1000);
  const httplib::Response reply = server.PostForm("/translate", std::string(2 << 20, 'a'));
  EXPECT_EQ(reply.status, 413);
  EXPECT_THAT(server.Json(reply)["error"].get<std::string>(), HasSubstr("--max-document-bytes"));
  EXPECT_THAT(server.Json(server.PostForm("/v2/translate", std::string(2 << 20, 'a')))["message"].get<std::string>(),
              HasSubstr("--max-document-bytes"));
}

TEST(CompatApiTest, AClientThatLeavesCancelsItsTexts) {
  CompatServer server({.automatic = false});
  httplib::Client client = server.Client();
  std::thread caller([&client] {
    EXPECT_FALSE(client.Post("/v2/translate", R"({"text": ["a", "b"], "target_lang": "DE"})", "application/json"));
  });
  server.engine().WaitForAdmitted(2);
  client.stop();
  server.engine().WaitForCancelled(2);
  caller.join();
}

TEST(CompatApiTest, ADocumentThatNobodyReadsCountsAsItsClients) {
  const TempFolder folder;
  WriteFile(folder / "keys", std::string(kTestKey) + " name=tester documents=1\n");
  TestServer server({}, {.compat = true,
                         .access = *Access::Open({.api_keys = folder / "keys"}),
                         .max_document_bytes = 16 << 20,
                         .guard = GuardMode::kOff});
  server.Start();
  const auto request = [](size_t bytes) {
    const std::string content = absl::Base64Escape("# " + std::string(bytes, 'a') + "\n");
    const json config = {{"mimeType", "text/markdown"}, {"content", content}};
    return json{{"documentInputConfig", config}, {"sourceLanguageCode", "en"}, {"targetLanguageCode", "de"}}.dump();
  };
  constexpr char kPath[] = "/v3/projects/p:translateDocument";
  UnreadReply client(server.http_port());
  ASSERT_EQ(client.Post(kPath, request(10 << 20), kTestKey), "HTTP/1.1 200 OK");
  httplib::Client other("127.0.0.1", server.http_port());
  const auto refused = other.Post(kPath, {{"x-goog-api-key", kTestKey}}, request(1), "application/json");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_GE(client.Read(), size_t{13} << 20);
  EXPECT_EQ(client.Post(kPath, request(1), kTestKey), "HTTP/1.1 200 OK");
}

TEST(CompatApiTest, TextsAreHeldWithinTheMemoryForDocuments) {
  CompatServer server({.automatic = false}, 10000);  // 320,000 bytes in all, of which a client may have half
  json texts = json::array();
  for (int i = 0; i < 10; ++i) texts.emplace_back(std::string(9900, 'a'));
  const json body = {{"text", texts}, {"target_lang", "DE"}, {"salient", {{"guard", "GUARD_OFF"}}}};
  httplib::Response first;
  std::thread caller([&] { first = server.Post("/v2/translate", body); });
  server.engine().WaitForAdmitted(10);
  const httplib::Response refused = server.Post("/v2/translate", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_FALSE(refused.get_header_value("Retry-After").empty());
  EXPECT_EQ(server.engine().admitted(), 10);
  for (int i = 0; i < 10; ++i) server.engine().Finish(i);
  caller.join();
  EXPECT_EQ(first.status, 200);
}

TEST(CompatApiTest, RefusalsAreCounted) {
  CompatServer server({}, 4 << 20, AccessWithKey());
  const json text = {{"q", "a"}, {"source", "en"}, {"target", "xx"}, {"api_key", kTestKey}};
  EXPECT_EQ(server.Post("/translate", text).status, 400);
  json stranger = text;
  stranger["api_key"] = "no-key-of-this-server";
  EXPECT_EQ(server.Post("/translate", stranger).status, 403);
  const auto metrics = httplib::Client("127.0.0.1", server.admin_port()).Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("salient_refusals_total{client=\"key\",reason=\"other\"} 1"));
  EXPECT_THAT(metrics->body, HasSubstr("salient_refusals_total{client=\"address\",reason=\"unauthenticated\"} 1"));
}

TEST(CompatApiTest, TextsThatWaitForEachOtherAreNotCountedAsRefused) {
  CompatServer server({.automatic = false, .capacity = 1});
  const json body = {{"text", {"a", "b", "c"}}, {"target_lang", "DE"}, {"salient", {{"guard", "GUARD_OFF"}}}};
  httplib::Response reply;
  std::thread caller([&] { reply = server.Post("/v2/translate", body); });
  for (int i = 0; i < 3; ++i) {
    server.engine().WaitForAdmitted(i + 1);
    absl::SleepFor(absl::Milliseconds(50));  // meanwhile the next one is tried
    server.engine().Finish(i);
  }
  caller.join();
  EXPECT_EQ(reply.status, 200);
  const auto metrics = httplib::Client("127.0.0.1", server.admin_port()).Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("salient_requests_total{model=\"fake\",outcome=\"ok\"} 3"));
  EXPECT_THAT(metrics->body, Not(ContainsRegex("salient_refusals_total\\{[^}]*\\} [1-9]")));
  EXPECT_THAT(metrics->body, Not(ContainsRegex("outcome=\"resource_exhausted\"\\} [1-9]")));
}

TEST(CompatApiTest, AListThatTheAllowanceHasNoTokensForIsRefusedBeforeItsFirstText) {
  const TempFolder folder;
  WriteFile(folder / "keys", std::string(kTestKey) + " name=tester tokens-per-minute=60\n");
  auto access = Access::Open({.api_keys = folder / "keys"});
  ASSERT_TRUE(access.ok()) << access.status();
  CompatServer server({}, 4 << 20, *access);
  const json list = {
      {"text", std::vector<std::string>(50, "A sentence.")}, {"source_lang", "EN"}, {"target_lang", "DE"}};
  const httplib::Headers key = {{"Authorization", std::string("DeepL-Auth-Key ") + kTestKey}};
  EXPECT_EQ(server.Post("/v2/translate", list, key).status, 200) << "the minute is full";
  const httplib::Response refused = server.Post("/v2/translate", list, key);
  EXPECT_EQ(refused.status, 429);
  EXPECT_GE(std::stoi(refused.get_header_value("Retry-After")), 60);
  const auto metrics = httplib::Client("127.0.0.1", server.admin_port()).Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("salient_requests_total{model=\"fake\",outcome=\"ok\"} 50"));
  EXPECT_THAT(metrics->body, HasSubstr("salient_refusals_total{client=\"key\",reason=\"client_tokens\"} 1"));
}

}  // namespace
}  // namespace salient
