#include "server/compat/google.h"

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "tests/server/compat/fake_host.h"

namespace salient {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class GoogleTest : public CompatTest {
 protected:
  // There is no room for a second request until the first one's reply is read.
  void ExpectRoomOnceRead(const std::string& path, const json& request) {
    HttpResponse unread = Post(path, request);
    EXPECT_EQ(unread.status, 200);
    EXPECT_EQ(Post(path, request).status, 429);
    unread.keep.reset();
    EXPECT_EQ(Post(path, request).status, 200);
  }
};

constexpr char kText[] = "/v3/projects/p/locations/global:translateText?$alt=json%3Benum-encoding%3Dint";
constexpr char kDocument[] = "/v3/projects/p/locations/global:translateDocument";

TEST_F(GoogleTest, Texts) {
  const HttpResponse response = Post(kText, {{"contents", {"one", "two"}},
                                             {"mimeType", "text/plain"},
                                             {"sourceLanguageCode", "en-US"},
                                             {"targetLanguageCode", "de"},
                                             {"salient", json::object()}});
  ASSERT_EQ(response.status, 200) << response.body;
  const json translations = Json(response)["translations"];
  EXPECT_EQ(translations[1]["translatedText"], "TWO");
  EXPECT_EQ(translations[0]["model"], "en-de");
  EXPECT_FALSE(translations[0].contains("detectedLanguageCode"));
  EXPECT_EQ(translations[0]["salient"]["report"]["attention_cost_ratio"], 0.07);
  EXPECT_EQ(host_.request(0).document().text(), "one");
}

TEST_F(GoogleTest, ATextInTheTargetLanguageStays) {
  const std::string german = "<p>Das ist ein ganz normaler deutscher Satz, und er ist lang.</p>";
  const json translation = Json(Post(kText, {{"contents", {german}}, {"targetLanguageCode", "de"}}))["translations"][0];
  EXPECT_EQ(translation["translatedText"], german);
  EXPECT_EQ(translation["detectedLanguageCode"], "de");
  EXPECT_EQ(host_.started(), 0u);
}

TEST_F(GoogleTest, HtmlUnlessItSaysOtherwise) {
  const HttpResponse response =
      Post("/v3/projects/p:translateText",
           {{"contents", {"This is a <b>sentence</b> in the English language."}}, {"target_language_code", "DE"}});
  EXPECT_EQ(host_.request(0).document().mime_type(), "text/html");
  EXPECT_EQ(Json(response)["translations"][0]["detectedLanguageCode"], "en");
  EXPECT_EQ(Post(kText, {{"contents", {"a"}}, {"targetLanguageCode", "de"}, {"mimeType", "text/rtf"}}).status, 400);
}

TEST_F(GoogleTest, AModelByItsName) {
  host_.AddModel("large", "en", "de");
  Post(kText,
       {{"contents", {"a"}}, {"targetLanguageCode", "de"}, {"model", "projects/p/locations/global/models/large"}});
  Post(
      kText,
      {{"contents", {"a"}}, {"targetLanguageCode", "de"}, {"model", "projects/p/locations/global/models/general/nmt"}});
  EXPECT_EQ(host_.request(0).model(), "large");
  EXPECT_EQ(host_.request(1).model(), "");
}

TEST_F(GoogleTest, Documents) {
  const HttpResponse response = Post(
      kDocument, {{"documentInputConfig", {{"mimeType", "text/html"}, {"content", absl::Base64Escape("<p>text</p>")}}},
                  {"sourceLanguageCode", "en"},
                  {"targetLanguageCode", "de"},
                  {"isTranslateNativePdfOnly", true}});
  ASSERT_EQ(response.status, 200) << response.body;
  const json translation = Json(response)["documentTranslation"];
  EXPECT_EQ(translation["byteStreamOutputs"], (json{absl::Base64Escape("<P>TEXT</P>")}));
  EXPECT_EQ(translation["mimeType"], "text/html");
  EXPECT_EQ(Json(response)["model"], "en-de");
  EXPECT_THAT(response.headers.at("Warning"), HasSubstr("isTranslateNativePdfOnly"));
  const auto refusal = [&](const json& config) {
    const HttpResponse refused = Post(kDocument, {{"documentInputConfig", config}, {"targetLanguageCode", "de"}});
    EXPECT_EQ(refused.status, 400);
    return Json(refused)["error"]["message"].get<std::string>();
  };
  EXPECT_THAT(refusal({{"mimeType", "text/html"}}), HasSubstr("content: is missing"));
  EXPECT_THAT(refusal({{"gcsSource", {{"inputUri", "gs://a"}}}}), HasSubstr("no other source"));
  EXPECT_THAT(refusal({{"mimeType", "text/html"}, {"content", "?"}}), HasSubstr("Base64"));
  EXPECT_THAT(refusal({{"mimeType", "image/png"}, {"content", "YQ=="}}), HasSubstr("mime_type is \"image/png\""));
  EXPECT_THAT(refusal(3), HasSubstr("is missing"));
}

TEST_F(GoogleTest, ErrorsInItsShape) {
  const json error = Json(Post(kText, {{"contents", {"a"}}, {"targetLanguageCode", "xx"}}))["error"];
  EXPECT_EQ(error["code"], 400);
  EXPECT_EQ(error["status"], "INVALID_ARGUMENT");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("'xx'"));
  HttpResponse response = Post("/v3/projects/p/locations/l:batchTranslateText", json::object());
  EXPECT_EQ(response.status, 501);
  EXPECT_EQ(Json(response)["error"]["status"], "UNIMPLEMENTED");
  host_.capacity = 0;
  response = Post(kText, {{"contents", {"a"}}, {"targetLanguageCode", "de"}});
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(Json(response)["error"]["status"], "RESOURCE_EXHAUSTED");
}

TEST_F(GoogleTest, TheHostIsToldOfRefusalsThatItDoesNotMake) {
  Post(kText, {{"contents", {"a"}}, {"targetLanguageCode", "xx"}});
  EXPECT_THAT(host_.refused().back(), HasSubstr("'xx'"));
  Post(kDocument, {{"targetLanguageCode", "de"}});
  EXPECT_EQ(host_.refused().back(), "key:anybody: document_input_config: is missing");
  EXPECT_EQ(Ask(Request("POST", kText, "{", "application/json")).status, 400);
  EXPECT_EQ(host_.refused().size(), 3u);
  host_.start_failure = absl::InvalidArgumentError("document.text: bad");
  EXPECT_EQ(Post(kText, {{"contents", {"a"}}, {"targetLanguageCode", "de"}}).status, 400);
  const json document = {{"content", absl::Base64Escape("text")}, {"mimeType", "text/plain"}};
  EXPECT_EQ(Post(kDocument, {{"documentInputConfig", document}, {"targetLanguageCode", "de"}}).status, 400);
  EXPECT_EQ(host_.refused().size(), 3u);
}

TEST_F(GoogleTest, Keys) {
  host_.key = "the-key";
  HttpRequest request = Request("GET", "/v3/projects/p/supportedLanguages");
  EXPECT_EQ(Ask(request).status, 401);
  request.headers["x-goog-api-key"] = "the-key";
  EXPECT_EQ(Ask(request).status, 200);
  EXPECT_EQ(CallerOf(request), "key:the-key");
  EXPECT_EQ(Get("/v3/projects/p/supportedLanguages?key=the-key").status, 200);
  request.headers.erase("x-goog-api-key");
  request.headers["Authorization"] = "Bearer the-key";
  EXPECT_EQ(Ask(request).status, 200);
}

TEST_F(GoogleTest, Languages) {
  EXPECT_EQ(
      Json(Get("/v3/projects/p/locations/global/supportedLanguages?displayLanguageCode=de"))["languages"],
      (json{{{"languageCode", "de"}, {"supportSource", false}, {"supportTarget", true}, {"displayName", "Deutsch"}},
            {{"languageCode", "en"}, {"supportSource", true}, {"supportTarget", false}, {"displayName", "Englisch"}}}));
  const json found =
      Json(Post("/v3/projects/p/locations/global:detectLanguage",
                {{"content", "Ceci est une phrase tout à fait normale en français."}, {"mimeType", "text/plain"}}));
  EXPECT_EQ(found["languages"][0]["languageCode"], "fr");
  EXPECT_EQ(Post("/v3/projects/p:detectLanguage", {{"mimeType", "text/plain"}}).status, 400);
}

TEST_F(GoogleTest, ADocumentCountsUntilItsReplyIsRead) {
  host_.documents = 1;
  const json request = {
      {"documentInputConfig", {{"mimeType", "text/html"}, {"content", absl::Base64Escape("<p>x</p>")}}},
      {"sourceLanguageCode", "en"},
      {"targetLanguageCode", "de"}};
  ExpectRoomOnceRead(kDocument, request);
}

TEST_F(GoogleTest, TextsCountUntilTheirReplyIsRead) {
  host_.held = std::make_unique<Admission>(40000);
  const json request = {{"contents", {std::string(15000, 'a')}},
                        {"mimeType", "text/plain"},
                        {"sourceLanguageCode", "en"},
                        {"targetLanguageCode", "de"}};
  ExpectRoomOnceRead(kText, request);
}

}  // namespace
}  // namespace salient
