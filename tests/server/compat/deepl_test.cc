#include "server/compat/deepl.h"

#include "gmock/gmock.h"
#include "server/compat/texts.h"
#include "tests/server/compat/fake_host.h"

namespace salient {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeepLTest : public CompatTest {
 protected:
  // Ten texts of one call, each finished by hand.
  void ExpectTenTexts() {
    host_.automatic = false;
    Begin(Request("POST", "/v2/translate", json{{"text", json(10, "a")}, {"target_lang", "DE"}}.dump(),
                  "application/json"));
    for (size_t i = 0; i < 10; ++i) {
      host_.WaitForStarted(i + 1);
      host_.Finish(i);
    }
    EXPECT_EQ(Json(Wait())["translations"].size(), 10u);
  }
};

TEST_F(DeepLTest, Texts) {
  const HttpResponse response = Post("/v2/translate", {{"text", {"one", "", "größe"}},
                                                       {"source_lang", "EN"},
                                                       {"target_lang", "DE"},
                                                       {"show_billed_characters", true},
                                                       {"formality", "default"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const json translations = Json(response)["translations"];
  ASSERT_EQ(translations.size(), 3u);
  EXPECT_EQ(translations[0], (json{{"detected_source_language", "EN"}, {"text", "ONE"}, {"billed_characters", 3}}));
  EXPECT_EQ(translations[1]["text"], "");
  EXPECT_EQ(translations[2]["billed_characters"], 5);
  EXPECT_EQ(host_.started(), 2u) << "an empty text is not translated";
  EXPECT_EQ(host_.request(0).source_language(), "en");
  EXPECT_EQ(host_.request(0).target_language(), "de");
  EXPECT_EQ(response.headers.count("Warning"), 0u);
  EXPECT_EQ(Json(Get("/v2/usage")), (json{{"character_count", 8}, {"character_limit", 1000000000000}}));
}

TEST_F(DeepLTest, EachLongTextHasItsOwnLanguage) {
  const std::string english = "The server is running and the disk is full.",
                    german = "Das ist ein ganz normaler deutscher Satz, und er ist lang.";
  const json translations =
      Json(Post("/v2/translate", {{"text", {english, german}}, {"target_lang", "DE"}}))["translations"];
  EXPECT_EQ(translations[0]["detected_source_language"], "EN");
  EXPECT_EQ(translations[1], (json{{"detected_source_language", "DE"}, {"text", german}}));
  EXPECT_EQ(host_.started(), 1u);
}

TEST_F(DeepLTest, AForm) {
  const HttpResponse response = PostForm("/v2/translate", "text=one&text=two%26&target_lang=de&split_sentences=0");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json(response)["translations"][1], (json{{"detected_source_language", "EN"}, {"text", "TWO&"}}));
  EXPECT_EQ(host_.request(0).document().segmentation(), v1::SEGMENTATION_LINES);
}

TEST_F(DeepLTest, Tags) {
  ASSERT_EQ(Post("/v2/translate", {{"text", {"a <x/>"}},
                                   {"target_lang", "DE"},
                                   {"tag_handling", "xml"},
                                   {"ignore_tags", {"x", "y"}},
                                   {"splitting_tags", "p,q"},
                                   {"non_splitting_tags", "i"},
                                   {"outline_detection", false}})
                .status,
            200);
  const v1::Document xml = host_.request(0).document();
  EXPECT_EQ(xml.content(), "a <x/>");
  EXPECT_EQ(xml.mime_type(), "application/xml");
  EXPECT_THAT(xml.elements().keep(), ElementsAre("x", "y"));
  EXPECT_THAT(xml.elements().block(), ElementsAre("p", "q"));
  EXPECT_THAT(xml.elements().in_text(), ElementsAre("i"));
  EXPECT_TRUE(xml.elements().listed_only());
  const HttpResponse html =
      Post("/v2/translate", {{"text", "a <b>b</b>"}, {"target_lang", "DE"}, {"tag_handling", "html"}});
  EXPECT_EQ(Json(html)["translations"][0]["text"], "A <B>B</B>");
  EXPECT_EQ(host_.request(1).document().mime_type(), "text/html");
  EXPECT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"tag_handling", "rtf"}}).status, 400);
}

TEST_F(DeepLTest, LineBreaksOfXmlStayUnlessItAsksForNone) {
  const auto kept = [&](const char* tags, const char* split, const char* warning) {
    json body = {{"text", "a\nb"}, {"target_lang", "DE"}, {"tag_handling", tags}};
    if (*split != '\0') body["split_sentences"] = split;
    const HttpResponse response = Post("/v2/translate", body);
    EXPECT_EQ(response.status, 200) << response.body;
    const auto told = response.headers.find("Warning");
    EXPECT_EQ(told == response.headers.end() ? "" : told->second, warning) << tags << " " << split;
    return host_.request(host_.started() - 1).document().elements().keep_line_breaks();
  };
  const char* ignored = "299 salient \"split_sentences: ignored\"";
  EXPECT_TRUE(kept("xml", "", ""));
  EXPECT_TRUE(kept("xml", "1", ""));
  EXPECT_TRUE(kept("xml", "0", ignored));
  EXPECT_FALSE(kept("xml", "nonewlines", ""));
  EXPECT_FALSE(kept("html", "", ""));
  EXPECT_FALSE(kept("html", "1", ignored));
  EXPECT_FALSE(kept("html", "nonewlines", ""));
}

TEST_F(DeepLTest, AFileWithoutANameHasThatOfTheField) {
  const auto upload = [&](const std::string& field) {
    return Ask(Request("POST", "/v2/document",
                       "--b\r\nContent-Disposition: form-data; name=\"target_lang\"\r\n\r\nDE\r\n" + field +
                           "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n# A\r\n--b--\r\n",
                       "multipart/form-data; boundary=b"));
  };
  const HttpResponse taken = upload("--b\r\nContent-Disposition: form-data; name=\"filename\"\r\n\r\na.md\r\n");
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(host_.request(0).document().content(), "# A");
  EXPECT_EQ(host_.request(0).document().mime_type(), "text/markdown");
  const HttpResponse nameless = upload("");
  EXPECT_EQ(nameless.status, 400);
  EXPECT_THAT(nameless.body, HasSubstr("file: "));
}

TEST_F(DeepLTest, WhatIsIgnoredIsTold) {
  const HttpResponse response = Post("/v2/translate", {{"text", "a"},
                                                       {"target_lang", "DE"},
                                                       {"formality", "more"},
                                                       {"context", "b"},
                                                       {"split_sentences", "nonewlines"},
                                                       {"x\"y", 1}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("Warning"), "299 salient \"formality, split_sentences, context, x_y: ignored\"");
}

TEST_F(DeepLTest, ControlsAndTheReport) {
  HttpResponse response = Post("/v2/translate", {{"text", "a"},
                                                 {"target_lang", "DE"},
                                                 {"salient",
                                                  {{"selection", {{"policy", "RATIO"}, {"value", 0.1}}},
                                                   {"operating_point", "fast"},
                                                   {"priority", "PRIORITY_BULK"}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(host_.request(0).selection().value(), 0.1);
  EXPECT_EQ(host_.request(0).operating_point(), "fast");
  EXPECT_EQ(host_.request(0).priority(), v1::PRIORITY_BULK);
  const json report = Json(response)["translations"][0]["salient"];
  EXPECT_EQ(report["report"]["attention_cost_ratio"], 0.07);
  EXPECT_EQ(report["model"], "en-de");
  EXPECT_EQ(report["selection"]["policy"], "RATIO");

  HttpRequest request = Request("POST", "/v2/translate", R"({"text": "a", "target_lang": "DE"})", "application/json");
  request.headers["X-Salient-Controls"] = R"({"depth": {"policy": "FIXED", "fixed_exit": 2}})";
  EXPECT_TRUE(Json(Ask(request))["translations"][0].contains("salient"));
  EXPECT_EQ(host_.request(1).depth().fixed_exit(), 2);
  EXPECT_FALSE(
      Json(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}}))["translations"][0].contains("salient"));

  const auto refusal = [&](const json& controls) {
    return Json(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"salient", controls}}))["message"].dump();
  };
  EXPECT_THAT(refusal({{"selction", {}}}), HasSubstr("selction"));
  EXPECT_THAT(refusal({{"document", {{"text", "b"}}}}), HasSubstr("fields of their own"));
  EXPECT_THAT(refusal({{"trace", true}}), HasSubstr("/v1/translate"));
  EXPECT_THAT(refusal(3), HasSubstr("salient"));
}

TEST_F(DeepLTest, ErrorsInItsShape) {
  const auto message = [&](const json& body) {
    const HttpResponse response = Post("/v2/translate", body);
    EXPECT_EQ(response.status, 400);
    return Json(response)["message"].get<std::string>();
  };
  EXPECT_THAT(message({{"target_lang", "DE"}}), HasSubstr("text: is missing"));
  EXPECT_THAT(message({{"text", "a"}}), HasSubstr("target_lang: is missing"));
  EXPECT_THAT(message({{"text", "a"}, {"target_lang", "FR"}}), HasSubstr("'FR' is not supported; this server has de"));
  EXPECT_THAT(message({{"text", {1}}, {"target_lang", "DE"}}), HasSubstr("text"));
  EXPECT_THAT(message({{"text", "a"}, {"target_lang", "DE"}, {"glossary_ids", {"g"}}}), HasSubstr("glossary_ids:"));
  EXPECT_THAT(message({{"text", json(1025, "a")}, {"target_lang", "DE"}}), HasSubstr("at most 1024"));
  EXPECT_EQ(Get("/v2/nothing").status, 404);
  EXPECT_EQ(Get("/v3/glossaries").status, 404);
  host_.start_failure = absl::InvalidArgumentError("document.text: bad");
  EXPECT_EQ(message({{"text", "a"}, {"target_lang", "DE"}}), "document.text: bad");
  host_.start_failure = absl::UnavailableError("the server is shutting down");
  EXPECT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}}).status, 503);
}

TEST_F(DeepLTest, TheHostIsToldOfRefusalsThatItDoesNotMake) {
  Post("/v2/translate", {{"target_lang", "DE"}});
  EXPECT_EQ(host_.refused().back(), "key:anybody: text: is missing; send one text or more");
  EXPECT_EQ(PostFile("/v2/document", "a.exe", "text", {{"target_lang", "DE"}}).status, 400);
  EXPECT_THAT(host_.refused().back(), HasSubstr("key:anybody: file: "));
  EXPECT_EQ(Get("/v2/nothing").status, 404);
  host_.start_failure = absl::InvalidArgumentError("document.text: bad");
  EXPECT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}}).status, 400);
  EXPECT_EQ(PostFile("/v2/document", "a.md", "text", {{"target_lang", "DE"}}).status, 400);
  EXPECT_EQ(host_.refused().size(), 2u);
}

TEST_F(DeepLTest, Keys) {
  host_.key = "the-key";
  HttpRequest request = Request("POST", "/v2/translate", R"({"text": "a", "target_lang": "DE"})", "application/json");
  EXPECT_EQ(Ask(request).status, 403);
  EXPECT_EQ(Json(Ask(request))["message"], "wrong key");
  request.headers["Authorization"] = "DeepL-Auth-Key other";
  EXPECT_EQ(Ask(request).status, 403);
  request.headers["Authorization"] = "DeepL-Auth-Key the-key";
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(CallerOf(request), "key:the-key");
}

TEST_F(DeepLTest, NoRoom) {
  host_.capacity = 0;
  const HttpResponse response = Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}});
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.headers.at("Retry-After"), "2");
}

TEST_F(DeepLTest, ManyTextsWaitForEachOther) {
  host_.capacity = 3;
  ExpectTenTexts();
  EXPECT_LE(host_.most_at_once(), 3);
}

TEST_F(DeepLTest, ManyTextsOfAClientThatMayHaveOneDocument) {
  host_.documents = 1;
  ExpectTenTexts();
}

// A client may have half of what can be held.
TEST_F(DeepLTest, TheTokensOfAllTextsAreTakenAtOnceAsOfOneDocument) {
  host_.tokens_per_minute = 300;
  const json list = {{"text", std::vector<std::string>(50, "A sentence of about fifty characters, as there are.")},
                     {"source_lang", "EN"},
                     {"target_lang", "DE"}};
  ASSERT_EQ(Post("/v2/translate", list).status, 200) << "more than a minute has, but the minute is full";
  EXPECT_EQ(host_.started(), 50u);
  const HttpResponse refused = Post("/v2/translate", list);
  EXPECT_EQ(refused.status, 429);
  EXPECT_GE(std::stoi(refused.headers.at("Retry-After")), 120) << "650 tokens were used, of 300 a minute";
  EXPECT_EQ(host_.started(), 50u) << "not one text is translated for nothing";
  EXPECT_EQ(Post("/v2/translate", {{"text", "Gut"}, {"source_lang", "DE"}, {"target_lang", "DE"}}).status, 200);
  host_.caller = "another";
  host_.start_failure = absl::InvalidArgumentError("document.text: bad");
  EXPECT_EQ(Post("/v2/translate", list).status, 400);
  host_.start_failure = absl::OkStatus();
  int status = 0;
  for (int tries = 0; tries < 100 && status != 200; ++tries) {  // soon after the reply
    if (tries > 0) absl::SleepFor(absl::Milliseconds(10));
    status = Post("/v2/translate", list).status;
  }
  EXPECT_EQ(status, 200) << "what was not translated was given back";
}

TEST_F(DeepLTest, TextsAreHeldWithinABound) {
  host_.held = std::make_unique<Admission>(40000);
  host_.automatic = false;
  const HttpRequest request =
      Request("POST", "/v2/translate", json{{"text", std::string(15000, 'a')}, {"target_lang", "DE"}}.dump(),
              "application/json");
  CompatService* const service = compat_.Find(request);
  HttpResponse first, second;
  const auto cancel = service->Handle(request, [&first](HttpResponse response) { first = std::move(response); });
  host_.WaitForStarted(1);
  service->Handle(request, [&second](HttpResponse response) { second = std::move(response); });
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.headers.count("Retry-After"), 1u);
  EXPECT_EQ(host_.started(), 1u);
  cancel();
  EXPECT_EQ(first.status, 499);
}

TEST_F(DeepLTest, ControlsAreBoundedWithAllTexts) {
  // Each text is a request of its own, with all controls.
  const json large = {{"text", json(1000, "a")},
                      {"target_lang", "DE"},
                      {"tag_handling", "xml"},
                      {"ignore_tags", {std::string(17 << 10, 'x')}}};
  const HttpResponse refused = Post("/v2/translate", large);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(Json(refused)["message"].get<std::string>(), HasSubstr("send fewer texts at once"));
  EXPECT_EQ(host_.started(), 0u);
  json fewer = large;
  fewer["text"] = json(100, "a");
  EXPECT_EQ(Post("/v2/translate", fewer).status, 200);
}

TEST_F(DeepLTest, AnErrorSaysWhichOfSeveralTextsIsWrong) {
  host_.automatic = false;
  Begin(Request("POST", "/v2/translate", R"({"text": ["a", "", "b"], "target_lang": "DE"})", "application/json"));
  host_.WaitForStarted(2);
  host_.End(1, absl::InvalidArgumentError("document.content: XML: line 1 is not well-formed XML"));
  EXPECT_EQ(Json(Wait())["message"], "text 3 of 3: document.content: XML: line 1 is not well-formed XML");
  host_.End(0, absl::CancelledError("cancelled"));
  host_.start_failure = absl::InvalidArgumentError("search.beam is 99");
  EXPECT_EQ(Json(Post("/v2/translate", {{"text", {"a", "b"}}, {"target_lang", "DE"}}))["message"], "search.beam is 99");
}

TEST_F(DeepLTest, OneFailureCancelsTheOthers) {
  host_.automatic = false;
  const json body = {{"text", json(100, "a")}, {"target_lang", "DE"}};
  Begin(Request("POST", "/v2/translate", body.dump(), "application/json"));
  host_.WaitForStarted(kTextsAtOnce);
  EXPECT_EQ(host_.started(), static_cast<size_t>(kTextsAtOnce));
  host_.End(3, absl::DeadlineExceededError("late"));
  EXPECT_EQ(Wait().status, 504);
  EXPECT_GE(host_.cancelled(), kTextsAtOnce - 1);
}

TEST_F(DeepLTest, AClientThatLeavesCancels) {
  host_.automatic = false;
  Begin(Request("POST", "/v2/translate", R"({"text": "a", "target_lang": "DE"})", "application/json"));
  host_.WaitForStarted(1);
  cancel_();
  Wait();
  while (host_.cancelled() == 0) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(DeepLTest, Languages) {
  host_.AddModel("en-pt", "en", "pt");
  host_.AddModel("de-en", "de", "en");
  json sources = Json(Get("/v2/languages"));
  EXPECT_EQ(sources, (json{{{"language", "DE"}, {"name", "German"}}, {{"language", "EN"}, {"name", "English"}}}));
  std::string codes;
  for (const json& one : Json(Get("/v2/languages?type=target"))) codes += one["language"].get<std::string>() + " ";
  EXPECT_EQ(codes, "DE EN-GB EN-US PT-BR PT-PT ");
  EXPECT_EQ(Json(Ask(Request("GET", "/v2/languages", "type=target", "application/x-www-form-urlencoded"))).size(), 5u)
      << "deepl's own client sends a body";
  EXPECT_EQ(Get("/v2/languages?type=both").status, 400);
}

TEST_F(DeepLTest, AnUploadHasTheTypeOfItsName) {
  ASSERT_EQ(PostFile("/v2/document", "slides.odp", "bytes", {{"target_lang", "DE"}, {"source_lang", "EN"}}).status,
            200);
  EXPECT_EQ(host_.request(0).document().mime_type(), "application/vnd.oasis.opendocument.presentation");
}

TEST_F(DeepLTest, OlderClientsUploadToAPathWithASlash) {
  const HttpResponse uploaded = PostFile("/v2/document/", "a.txt", "text", {{"target_lang", "DE"}});
  ASSERT_EQ(uploaded.status, 200) << uploaded.body;
  EXPECT_TRUE(Json(uploaded).contains("document_key"));
}

TEST_F(DeepLTest, EachTextOfTheTargetIsTranslated) {
  const HttpResponse response = Ask(Request("POST", "/v2/translate?text=one&text=two&target_lang=DE"));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(Json(response)["translations"].size(), 2u);
  EXPECT_EQ(Json(response)["translations"][0]["text"], "ONE");
}

TEST_F(DeepLTest, Documents) {
  host_.automatic = false;
  const HttpResponse uploaded = PostFile("/v2/document", "C:\\My Page.html", "<p>text</p>",
                                         {{"target_lang", "DE"}, {"source_lang", "EN"}, {"salient", "{}"}});
  ASSERT_EQ(uploaded.status, 200) << uploaded.body;
  const std::string path = "/v2/document/" + Json(uploaded)["document_id"].get<std::string>();
  const json key = {{"document_key", Json(uploaded)["document_key"]}};
  EXPECT_EQ(Json(Post(path, key))["status"], "queued");
  EXPECT_EQ(Post(path + "/result", key).status, 503);
  v1::Progress progress;
  progress.set_share_done(0.1);
  host_.Progress(0, progress);
  EXPECT_EQ(Json(Post(path, key))["status"], "translating");
  EXPECT_FALSE(Json(Post(path, key)).contains("seconds_remaining")) << "it has only begun";
  progress.set_share_done(0.5);
  host_.Progress(0, progress);
  EXPECT_EQ(Json(Post(path, key))["seconds_remaining"], 1) << "as long again as until now, rounded up";
  EXPECT_EQ(Post(path, {{"document_key", "0123"}}).status, 404);
  EXPECT_EQ(Post("/v2/document/0123", key).status, 404);
  host_.Finish(0);
  const json done = Json(Post(path, key));
  EXPECT_EQ(done["status"], "done");
  EXPECT_EQ(done["billed_characters"], 11);
  EXPECT_EQ(done["salient"]["model"], "en-de");
  const HttpResponse result = Post(path + "/result", key);
  EXPECT_EQ(result.status, 200);
  EXPECT_EQ(result.body, "<P>TEXT</P>");
  EXPECT_EQ(result.content_type, "text/html");
  EXPECT_EQ(result.headers.at("Content-Disposition"), "attachment; filename=\"My Page.de.html\"");
  EXPECT_THAT(result.headers.at("X-Salient-Report"), HasSubstr("attention_cost_ratio"));
  EXPECT_EQ(Post(path + "/result", key).status, 404) << "a document is fetched once";
  EXPECT_EQ(Json(Get("/v2/usage"))["character_count"], 11);
}

TEST_F(DeepLTest, ADocumentIsItsClients) {
  host_.key = "a";
  HttpRequest upload = Request("POST", "/v2/document",
                               "--b\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--b\r\n"
                               "Content-Disposition: form-data; name=target_lang\r\n\r\nDE\r\n--b--\r\n",
                               "multipart/form-data; boundary=b");
  upload.headers["Authorization"] = "DeepL-Auth-Key a";
  const json uploaded = Json(Ask(upload));
  HttpRequest state = Request("POST", "/v2/document/" + uploaded["document_id"].get<std::string>(),
                              json{{"document_key", uploaded["document_key"]}}.dump(), "application/json");
  state.headers["Authorization"] = "DeepL-Auth-Key a";
  EXPECT_EQ(Ask(state).status, 200);
  host_.key = "b";
  state.headers["Authorization"] = "DeepL-Auth-Key b";
  EXPECT_EQ(Ask(state).status, 404);
}

TEST_F(DeepLTest, DocumentsThatFail) {
  host_.automatic = false;
  const json uploaded =
      Json(PostFile("/v2/document", "a.md", "text", {{"target_lang", "DE"}, {"output_format", "md"}}));
  const std::string path = "/v2/document/" + uploaded["document_id"].get<std::string>();
  host_.End(0, absl::InvalidArgumentError("document.content: broken"));
  const json state = Json(Post(path, {{"document_key", uploaded["document_key"]}}));
  EXPECT_EQ(state["status"], "error");
  EXPECT_EQ(state["error_message"], "document.content: broken");
  EXPECT_EQ(Post(path + "/result", {{"document_key", uploaded["document_key"]}}).status, 400);

  const auto refusal = [&](const std::string& name, const std::vector<std::pair<std::string, std::string>>& fields,
                           const std::string& content = "text") {
    const HttpResponse response = PostFile("/v2/document", name, content, fields);
    EXPECT_EQ(response.status, 400) << response.body;
    return Json(response)["message"].get<std::string>();
  };
  EXPECT_THAT(refusal("a.md", {}), HasSubstr("target_lang"));
  EXPECT_THAT(refusal("a.xyz", {{"target_lang", "DE"}}), HasSubstr("tells no format"));
  EXPECT_THAT(refusal("a.md", {{"target_lang", "DE"}}, ""), HasSubstr("empty"));
  EXPECT_THAT(refusal("a.md", {{"target_lang", "DE"}, {"output_format", "docx"}}), HasSubstr("output_format"));
  EXPECT_THAT(refusal("a.md", {{"target_lang", "DE"}, {"glossary_ids", "g"}}), HasSubstr("glossary_ids:"));
  EXPECT_EQ(Post("/v2/document", {{"target_lang", "DE"}}).status, 400);
  host_.start_failure = absl::ResourceExhaustedError("full");
  EXPECT_EQ(PostFile("/v2/document", "a.md", "text", {{"target_lang", "DE"}}).status, 429);
}

// A client may have half of what can be held.
TEST_F(DeepLTest, AResultCountsAsItsClientsUntilItIsRead) {
  host_.held = std::make_unique<Admission>(40000);
  std::vector<std::pair<std::string, json>> documents;
  for (int i = 0; i < 2; ++i) {
    const json uploaded = Json(PostFile("/v2/document", "a.txt", std::string(15000, 'a'), {{"target_lang", "DE"}}));
    documents.emplace_back("/v2/document/" + uploaded["document_id"].get<std::string>() + "/result",
                           json{{"document_key", uploaded["document_key"]}});
  }
  HttpResponse unread = Post(documents[0].first, documents[0].second);
  ASSERT_EQ(unread.status, 200);
  const HttpResponse refused = Post(documents[1].first, documents[1].second);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.count("Retry-After"), 1u);
  unread = HttpResponse();
  EXPECT_EQ(Post(documents[1].first, documents[1].second).body, std::string(15000, 'A')) << "it is still there";
}

TEST_F(DeepLTest, AFilesNameIsBounded) {
  const HttpResponse response =
      PostFile("/v2/document", "a.txt", "text", {{"target_lang", "DE"}, {"filename", std::string(2000, 'a') + ".txt"}});
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(Json(response)["message"].get<std::string>(), HasSubstr("file: its name has 2004 bytes; at most 1024"));
}

TEST_F(DeepLTest, AnErrorThatRepeatsMuchIsCut) {
  const HttpResponse response = Post("/v2/translate", {{"text", "a"}, {"target_lang", std::string(1 << 20, 'x')}});
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(Json(response)["message"].get<std::string>(), HasSubstr("the target language 'xxx"));
  EXPECT_LT(response.body.size(), 2100u);
}

}  // namespace
}  // namespace salient
