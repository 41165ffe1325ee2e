#include "server/compat/libretranslate.h"

#include "gmock/gmock.h"
#include "tests/server/compat/fake_host.h"

namespace salient {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using LibreTranslateTest = CompatTest;

TEST_F(LibreTranslateTest, Texts) {
  const HttpResponse one = Post("/translate", {{"q", "one"}, {"source", "en"}, {"target", "de"}});
  ASSERT_EQ(one.status, 200) << one.body;
  EXPECT_EQ(Json(one), (json{{"translatedText", "ONE"}}));
  const HttpResponse list =
      Post("/translate", {{"q", {"one", "two"}}, {"source", "auto"}, {"target", "de"}, {"salient", json::object()}});
  EXPECT_EQ(Json(list)["translatedText"], (json{"ONE", "TWO"}));
  EXPECT_EQ(Json(list)["detectedLanguage"][1]["language"], "en");
  EXPECT_EQ(Json(list)["salient"].size(), 2u);
  EXPECT_EQ(Json(PostForm("/translate", "q=a%20b&source=en&target=de"))["translatedText"], "A B");
}

TEST_F(LibreTranslateTest, ATextInTheTargetLanguageStaysAndIsNotTranslated) {
  const std::string german = "Das ist schon deutsch und bleibt so.";
  const json reply = Json(Post("/translate", {{"q", german}, {"source", "auto"}, {"target", "de"}}));
  EXPECT_EQ(reply["translatedText"], german);
  EXPECT_EQ(reply["detectedLanguage"]["language"], "de");
  EXPECT_GT(reply["detectedLanguage"]["confidence"], 80);
  const json named = {{"q", "<b>Gut</b>"}, {"source", "de"},    {"target", "de"},
                      {"format", "html"},  {"alternatives", 2}, {"salient", json::object()}};
  EXPECT_EQ(Json(Post("/translate", named))["translatedText"], "<b>Gut</b>");
  EXPECT_EQ(Json(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "en"}}))["translatedText"], "a");
  EXPECT_EQ(host_.started(), 0u);
  const std::string english = "The server is running and the disk is full.";
  const json list =
      Json(Post("/translate", {{"q", {english, german + " " + german}}, {"source", "auto"}, {"target", "de"}}));
  EXPECT_EQ(list["translatedText"], (json{absl::AsciiStrToUpper(english), german + " " + german}));
  EXPECT_EQ(list["detectedLanguage"][0]["language"], "en");
  EXPECT_EQ(list["detectedLanguage"][1]["language"], "de");
  EXPECT_EQ(host_.started(), 1u);
}

TEST_F(LibreTranslateTest, Html) {
  Post("/translate", {{"q", "<b>a</b>"}, {"source", "en"}, {"target", "de"}, {"format", "html"}, {"alternatives", 2}});
  EXPECT_EQ(host_.request(0).document().mime_type(), "text/html");
  EXPECT_EQ(host_.request(0).search().n_best(), 0) << "of HTML there are no alternatives";
  EXPECT_EQ(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}, {"format", "rtf"}}).status, 400);
}

TEST_F(LibreTranslateTest, Alternatives) {
  const json reply = Json(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}, {"alternatives", 2}}));
  EXPECT_EQ(reply["alternatives"], (json{"other", "other"}));
  EXPECT_EQ(host_.request(0).search().n_best(), 3);
  EXPECT_EQ(host_.request(0).search().beam(), 3);
  EXPECT_EQ(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}, {"alternatives", 99}}).status, 400);
}

TEST_F(LibreTranslateTest, ErrorsInItsShape) {
  const auto error = [&](const json& body) {
    const HttpResponse response = Post("/translate", body);
    EXPECT_EQ(response.status, 400);
    return Json(response)["error"].get<std::string>();
  };
  EXPECT_EQ(error({{"source", "en"}, {"target", "de"}}), "Invalid request: missing q parameter");
  EXPECT_EQ(error({{"q", "a"}, {"target", "de"}}), "Invalid request: missing source parameter");
  EXPECT_THAT(error({{"q", "a"}, {"source", "en"}, {"target", "xx"}}), HasSubstr("'xx' is not supported"));
  EXPECT_EQ(Ask(Request("GET", "/translate")).status, 404);
}

TEST_F(LibreTranslateTest, TheHostIsToldOfRefusalsThatItDoesNotMake) {
  HttpRequest request = Request("POST", "/translate", "{", "application/json");
  request.peer_address = "192.0.2.1";
  EXPECT_EQ(Ask(request).status, 400);
  EXPECT_THAT(host_.refused().back(), HasSubstr("address:192.0.2.1: "));
  Post("/translate", {{"source", "en"}, {"target", "de"}});
  EXPECT_EQ(host_.refused().back(), "key:anybody: Invalid request: missing q parameter");
  EXPECT_EQ(PostFile("/translate_file", "a.exe", "text", {{"source", "en"}, {"target", "de"}}).status, 400);
  host_.start_failure = absl::InvalidArgumentError("document.text: bad");
  EXPECT_EQ(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}}).status, 400);
  EXPECT_EQ(PostFile("/translate_file", "a.md", "text", {{"source", "en"}, {"target", "de"}}).status, 400);
  EXPECT_EQ(host_.refused().size(), 3u);
  host_.key = "the-key";
  EXPECT_EQ(Post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "de"}, {"api_key", "other"}}).status, 403);
  EXPECT_EQ(host_.refused().back(), "address:: wrong key");
}

TEST_F(LibreTranslateTest, KeysInTheBody) {
  host_.key = "the-key";
  const json body = {{"q", "a"}, {"source", "en"}, {"target", "de"}};
  EXPECT_EQ(Post("/translate", body).status, 403);
  EXPECT_EQ(Json(Post("/translate", body))["error"], "wrong key");
  json with_key = body;
  with_key["api_key"] = "other";
  EXPECT_EQ(Post("/translate", with_key).status, 403);
  with_key["api_key"] = "the-key";
  EXPECT_EQ(Post("/translate", with_key).status, 200);
  EXPECT_EQ(Post("/translate?api_key=the-key", body).status, 200);
  EXPECT_EQ(Get("/languages").status, 200);
}

TEST_F(LibreTranslateTest, WhoCallsIsKnownBeforeTheBodyUnlessTheKeyIsInIt) {
  EXPECT_EQ(CallerOf(Request("POST", "/translate", "{}")), "key:anybody") << "who needs no key is known";
  host_.key = "the-key";
  EXPECT_EQ(CallerOf(Request("POST", "/translate", "{}")), "nobody");
  EXPECT_EQ(CallerOf(Request("POST", "/translate?api_key=the-key", "{}")), "key:the-key");
  EXPECT_EQ(CallerOf(Request("POST", "/translate?api_key=other", "{}")), "refused");
  EXPECT_EQ(CallerOf(Request("GET", "/languages")), "nobody");
  EXPECT_EQ(CallerOf(Request("GET", "/download_file/0123.a.md?api_key=the-key")), "key:the-key");
}

// Before a byte of it is read.
TEST_F(LibreTranslateTest, ALargeBodyNeedsItsKeyBefore) {
  host_.key = "the-key";
  const auto admitted = [&](const std::string& target, const std::string& length, const std::string& authorization = "",
                            const std::string& coding = "") {
    HttpRequest request = Request("POST", target);
    if (!coding.empty()) request.headers["Content-Encoding"] = coding;
    request.headers.erase("Content-Length");
    if (!length.empty()) request.headers["Content-Length"] = length;
    if (!authorization.empty()) request.headers["Authorization"] = authorization;
    return compat_.Find(request)->Admit(request).ok();
  };
  EXPECT_TRUE(admitted("/translate", "65536"));
  EXPECT_FALSE(admitted("/translate", "65537"));
  EXPECT_FALSE(admitted("/translate", "")) << "chunked: nobody knows how much comes";
  EXPECT_FALSE(admitted("/translate", "-1"));
  EXPECT_FALSE(admitted("/translate", "100", "", "gzip")) << "nobody knows how much it is unpacked";
  EXPECT_TRUE(admitted("/translate", "100", "", "Identity"));
  EXPECT_TRUE(admitted("/translate", "100", "Bearer the-key", "gzip"));
  EXPECT_FALSE(admitted("/translate", "100", "Bearer other"));
  EXPECT_TRUE(admitted("/translate_file?api_key=the-key", "1000000"));
  EXPECT_FALSE(admitted("/translate_file?api_key=other", "100"));
  EXPECT_TRUE(admitted("/translate", "1000000", "Bearer the-key"));
}

TEST_F(LibreTranslateTest, DetectAndLanguages) {
  const json found = Json(PostForm("/detect", "q=Dies+ist+ein+ganz+normaler+Satz+in+deutscher+Sprache."));
  EXPECT_EQ(found[0]["language"], "de");
  EXPECT_GT(found[0]["confidence"], 80);
  EXPECT_EQ(Json(PostForm("/detect", "q=12345")), (json{{{"language", "en"}, {"confidence", 0.0}}}));
  EXPECT_EQ(PostForm("/detect", "").status, 400);
  EXPECT_EQ(Json(Get("/languages")), (json{{{"code", "de"}, {"name", "German"}, {"targets", json::array()}},
                                           {{"code", "en"}, {"name", "English"}, {"targets", {"de"}}}}));
  EXPECT_THAT(Json(Get("/frontend/settings"))["supportedFilesFormat"].dump(), HasSubstr(".docx"));
}

TEST_F(LibreTranslateTest, Files) {
  const HttpResponse response =
      PostFile("/translate_file", "a.html", "<p>text</p>", {{"source", "auto"}, {"target", "de"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const std::string url = Json(response)["translatedFileUrl"];
  const std::string origin = "http://mt.example:8080";
  ASSERT_THAT(url, ::testing::StartsWith(origin + "/download_file/"));
  EXPECT_THAT(url, ::testing::EndsWith(".a.de.html"));
  const HttpResponse file = Get(url.substr(origin.size()));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, "<P>TEXT</P>");
  EXPECT_EQ(Get("/download_file/0123.a.html").status, 404);
  EXPECT_EQ(PostFile("/translate_file", "a.html", "<p>", {{"source", "en"}}).status, 400);
  EXPECT_EQ(PostFile("/translate_file", "a.xyz", "text", {{"source", "en"}, {"target", "de"}}).status, 400);
  host_.automatic = false;
  std::string body =
      "--b\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--b\r\n"
      "Content-Disposition: form-data; name=source\r\n\r\nen\r\n--b\r\n"
      "Content-Disposition: form-data; name=target\r\n\r\nde\r\n--b--\r\n";
  Begin(Request("POST", "/translate_file", body, "multipart/form-data; boundary=b"));
  host_.End(1, absl::InvalidArgumentError("document.content: broken"));
  const HttpResponse failed = Wait();
  EXPECT_EQ(failed.status, 400);
  EXPECT_EQ(Json(failed)["error"], "document.content: broken");
}

TEST_F(LibreTranslateTest, AFileThatFailsTakesNoRoom) {
  host_.automatic = false;
  const HttpRequest upload =
      Request("POST", "/translate_file?source=en&target=de",
              "--b\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--b--\r\n",
              "multipart/form-data; boundary=b");
  const size_t more_than_are_kept = DocumentStore::Limits().max_documents + 1;
  for (size_t i = 0; i < more_than_are_kept; ++i) {
    Begin(upload);
    ASSERT_EQ(host_.started(), i + 1);
    host_.End(i, absl::InvalidArgumentError("document.content: broken"));
    ASSERT_EQ(Wait().status, 400);
  }
}

// Only the reply tells the address of the translation.
TEST_F(LibreTranslateTest, AClientThatLeavesCancelsItsFile) {
  host_.automatic = false;
  Begin(Request("POST", "/translate_file?source=en&target=de",
                "--b\r\nContent-Disposition: form-data; name=file; filename=a.txt\r\n\r\ntext\r\n--b--\r\n",
                "multipart/form-data; boundary=b"));
  ASSERT_TRUE(cancel_);
  cancel_();
  EXPECT_EQ(host_.cancelled(), 1);
  host_.End(0, absl::CancelledError("cancelled by the client"));
  EXPECT_EQ(Wait().status, 499);
}

TEST_F(LibreTranslateTest, ADocumentOfDeepLsIsNoDownload) {
  const HttpResponse uploaded = PostFile("/v2/document", "a.html", "<p>text</p>", {{"target_lang", "DE"}});
  ASSERT_EQ(uploaded.status, 200) << uploaded.body;
  const std::string id = Json(uploaded)["document_id"], key = Json(uploaded)["document_key"];
  EXPECT_EQ(Get("/download_file/" + id + ".x").status, 404);
  EXPECT_EQ(PostForm("/v2/document/" + id + "/result", "document_key=" + key).body, "<P>TEXT</P>");
}

TEST_F(LibreTranslateTest, ADownloadCountsUntilItIsRead) {
  const HttpResponse response =
      PostFile("/translate_file", "a.txt", std::string(15000, 'a'), {{"source", "en"}, {"target", "de"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const std::string url = Json(response)["translatedFileUrl"];
  host_.held = std::make_unique<Admission>(40000);  // of which a client may have half
  host_.key = "the-key";                            // which a download does not need
  HttpRequest download = Request("GET", url.substr(url.find("/download_file/")));
  download.peer_address = "192.0.2.1";
  HttpResponse unread = Ask(download);
  ASSERT_EQ(unread.status, 200);
  EXPECT_EQ(Ask(download).status, 429);
  download.peer_address = "192.0.2.2";
  EXPECT_EQ(Ask(download).status, 200) << "another client";
  download.peer_address = "192.0.2.1";
  unread = HttpResponse();
  EXPECT_EQ(Ask(download).status, 200);
}

TEST_F(LibreTranslateTest, AnyFileNameMakesAnAddress) {
  const HttpResponse response =
      PostFile("/translate_file", "100% größe?.txt", "text", {{"source", "en"}, {"target", "de"}});
  const std::string url = Json(response)["translatedFileUrl"];
  EXPECT_THAT(url, ::testing::EndsWith(".100%25%20gr%C3%B6%C3%9Fe%3F.de.txt"));
  EXPECT_EQ(Get(url.substr(url.find("/download_file/"))).body, "TEXT");
}

// What needs no key has no body, or one that anybody may send.
TEST_F(LibreTranslateTest, ABodyNeedsItsKeyWhereThePathDoesNot) {
  host_.key = "the-key";
  const auto admitted = [&](const std::string& length) {
    HttpRequest request = Request("GET", "/languages");
    request.headers["Content-Length"] = length;
    return compat_.Find(request)->Admit(request).ok();
  };
  EXPECT_TRUE(admitted("0"));
  EXPECT_TRUE(admitted("100"));
  EXPECT_FALSE(admitted("1000000"));
}

}  // namespace
}  // namespace salient
