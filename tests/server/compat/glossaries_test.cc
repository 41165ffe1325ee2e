// Glossaries by DeepL's and Google's APIs: the server's, and those that clients make.

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "server/compat/csv.h"
#include "server/compat/glossary_uploads.h"
#include "tests/server/compat/fake_host.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class CompatGlossariesTest : public CompatTest {
 protected:
  HttpResponse Make(const std::string& entries, const std::string& format = "tsv", const std::string& target = "DE") {
    return Post("/v2/glossaries", {{"name", "My terms"},
                                   {"source_lang", "EN"},
                                   {"target_lang", target},
                                   {"entries", entries},
                                   {"entries_format", format}});
  }
  std::string Made(const std::string& entries) {
    const HttpResponse response = Make(entries);
    EXPECT_EQ(response.status, 201) << response.body;
    return Json(response)["glossary_id"];
  }
  std::string Refusal(const HttpResponse& response) {
    EXPECT_EQ(response.status, 400) << response.body;
    return Json(response).value("message", "");
  }
};

TEST_F(CompatGlossariesTest, OneIsMadeListedUsedAndRemoved) {
  const HttpResponse made = Make("house\tHaus\nriver\tStrom\n");
  ASSERT_EQ(made.status, 201) << made.body;
  const json info = Json(made);
  const std::string id = info["glossary_id"];
  EXPECT_EQ(info["name"], "My terms");
  EXPECT_EQ(info["source_lang"], "en");
  EXPECT_EQ(info["target_lang"], "de");
  EXPECT_EQ(info["entry_count"], 2);
  EXPECT_EQ(info["ready"], true);
  EXPECT_EQ(Json(Get("/v2/glossaries"))["glossaries"][0]["glossary_id"], id);
  EXPECT_EQ(Json(Get("/v2/glossaries/" + id))["name"], "My terms");
  EXPECT_EQ(Get("/v2/glossaries/" + id + "/entries").body, "house\tHaus\nriver\tStrom\n");
  EXPECT_TRUE(std::ifstream(uploads_ / ("uploads/" + id + ".tsv")).good()) << "where the server's requests find it";

  ASSERT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"glossary_id", id}}).status, 200);
  EXPECT_EQ(host_.own_glossary(), id);
  EXPECT_TRUE(host_.request(0).has_glossary() && host_.request(0).glossary().name().empty());
  EXPECT_EQ(PostFile("/v2/document", "a.md", "text", {{"target_lang", "DE"}, {"glossary_id", id}}).status, 200);
  EXPECT_TRUE(host_.request(1).has_glossary() && host_.request(1).glossary().name().empty());

  EXPECT_EQ(Ask(Request("DELETE", "/v2/glossaries/" + id)).status, 204);
  EXPECT_EQ(Get("/v2/glossaries/" + id).status, 404);
  EXPECT_EQ(Json(Get("/v2/glossaries"))["glossaries"], json::array());
  EXPECT_TRUE(std::filesystem::is_empty(uploads_ / "uploads"));
}

TEST_F(CompatGlossariesTest, AByteOrderMarkIsNotOfTheFirstTerm) {
  for (const auto& [format, entries] : {std::pair("csv", "\xef\xbb\xbf\"old house, big\",\"Bude, groß\"\r\n"),
                                        {"tsv", "\xef\xbb\xbfold house, big\tBude, groß\n"}}) {
    const HttpResponse made = Make(entries, format);
    ASSERT_EQ(made.status, 201) << made.body;
    EXPECT_EQ(Get("/v2/glossaries/" + Json(made)["glossary_id"].get<std::string>() + "/entries").body,
              "old house, big\tBude, groß\n");
  }
}

TEST_F(CompatGlossariesTest, AFieldThatIsNoTextIsRefused) {
  HttpRequest request = Request("POST", "/v2/glossaries");
  request.headers["Content-Type"] = "application/x-www-form-urlencoded";
  request.body = "name=%ff&source_lang=en&target_lang=de&entries=a%09b&entries_format=tsv";
  EXPECT_EQ(Refusal(Ask(request)), "name: is not UTF-8, or has a NUL");
  EXPECT_FALSE(std::filesystem::exists(uploads_ / "uploads"));
}

TEST_F(CompatGlossariesTest, AClientHasItsOwnOnly) {
  const std::string id = Made("house\tHaus\n");
  host_.caller = "another";
  EXPECT_EQ(Json(Get("/v2/glossaries"))["glossaries"], json::array());
  EXPECT_EQ(Get("/v2/glossaries/" + id).status, 404);
  EXPECT_EQ(Get("/v2/glossaries/" + id + "/entries").status, 404);
  EXPECT_EQ(Ask(Request("DELETE", "/v2/glossaries/" + id)).status, 404);
  EXPECT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"glossary_id", id}}).status, 404);
  EXPECT_EQ(host_.started(), 0u);
}

// It is removed for its client at once, and its file when the last document has been translated.
TEST_F(CompatGlossariesTest, OneThatIsRemovedStaysForDocumentsThatWereAccepted) {
  host_.automatic = false;
  const std::string id = Made("house\tHaus\n");
  const std::filesystem::path terms = uploads_ / ("uploads/" + id + ".tsv");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(PostFile("/v2/document", "a.md", "text", {{"target_lang", "DE"}, {"glossary_id", id}}).status, 200);
  }
  EXPECT_EQ(Ask(Request("DELETE", "/v2/glossaries/" + id)).status, 204);
  EXPECT_EQ(Get("/v2/glossaries/" + id).status, 404);
  EXPECT_EQ(Get("/v2/glossaries/" + id + "/entries").status, 404);
  EXPECT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"glossary_id", id}}).status, 404);
  host_.Finish(0);
  EXPECT_TRUE(std::filesystem::exists(terms));
  host_.Finish(1);
  EXPECT_FALSE(std::filesystem::exists(terms));
}

TEST_F(CompatGlossariesTest, TheServersAreThereForAll) {
  host_.glossaries.push_back({.id = "medical", .name = "medical", .created = absl::UnixEpoch(), .terms = 7});
  const json list = Json(Get("/v2/glossaries"))["glossaries"];
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0], (json{{"glossary_id", "medical"},
                           {"name", "medical"},
                           {"ready", true},
                           {"source_lang", "en"},
                           {"target_lang", "de"},
                           {"creation_time", "1970-01-01T00:00:00.000Z"},
                           {"entry_count", 7}}));
  EXPECT_EQ(Json(Get("/v2/glossaries/medical"))["name"], "medical");
  EXPECT_EQ(Get("/v2/glossaries/medical/entries").body, "medical\tWort\n");
  EXPECT_EQ(Get("/v2/glossaries/other/entries").status, 404);
  EXPECT_EQ(Ask(Request("DELETE", "/v2/glossaries/other")).status, 404);
  const HttpResponse kept = Ask(Request("DELETE", "/v2/glossaries/medical"));
  EXPECT_EQ(kept.status, 403);
  EXPECT_THAT(kept.body, HasSubstr("operator"));
  ASSERT_EQ(Post("/v2/translate", {{"text", "a"}, {"target_lang", "DE"}, {"glossary_id", "medical"}}).status, 200);
  EXPECT_EQ(host_.request(0).glossary().name(), "medical");
  EXPECT_EQ(Json(Get("/v2/glossary-language-pairs")),
            (json{{"supported_languages", {{{"source_lang", "en"}, {"target_lang", "de"}}}}}));
}

TEST_F(CompatGlossariesTest, GooglesNameOneByItsPath) {
  const std::string id = Made("house\tHaus\n");
  const std::string project = "/v3/projects/p/locations/l";
  const json config = {{"glossary", "projects/p/locations/l/glossaries/" + id}};
  const HttpResponse response =
      Post(project + ":translateText", {{"contents", {"a"}}, {"targetLanguageCode", "de"}, {"glossaryConfig", config}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(host_.own_glossary(), id);
  EXPECT_EQ(Json(response)["glossaryTranslations"][0]["translatedText"], "A");
  EXPECT_EQ(Post(project + ":translateText", {{"contents", {"a"}}, {"targetLanguageCode", "de"}, {"glossaryConfig", 1}})
                .status,
            400);
}

TEST_F(CompatGlossariesTest, WhatIsWrongIsTold) {
  EXPECT_THAT(Refusal(Make("house Haus\n")), HasSubstr("entries: line 1 is not a source"));
  EXPECT_THAT(Refusal(Make("a\tb\nhouse\tHaus\tc\n")), HasSubstr("entries: line 2"));
  EXPECT_THAT(Refusal(Make("house\t \n")), HasSubstr("line 1"));
  EXPECT_THAT(Refusal(Make("")), HasSubstr("entries: there is none"));
  EXPECT_THAT(Refusal(Make("a\tb\n", "xlsx")), HasSubstr("entries_format:"));
  EXPECT_THAT(Refusal(Make("a\tb\n", "tsv", "FR")), HasSubstr("'FR'"));
  EXPECT_THAT(Refusal(Post("/v2/glossaries", {{"name", "a"}, {"entries_format", "tsv"}})), HasSubstr("source_lang:"));
  EXPECT_EQ(Get("/v2/glossaries/../../etc").status, 404);
  EXPECT_EQ(Get("/v3/glossaries").status, 404);
}

TEST_F(CompatGlossariesTest, OneForAnotherLanguageIsRefused) {
  host_.AddModel("en-pt", "en", "pt");
  const std::string id = Made("house\tHaus\n");
  EXPECT_THAT(Refusal(Post("/v2/translate", {{"text", "a"}, {"target_lang", "PT-BR"}, {"glossary_id", id}})),
              HasSubstr("glossary_id: the glossary is for DE"));
}

TEST(GlossaryUploadsTest, NothingIsStoredWithoutAFolder) {
  GlossaryUploads none("");
  EXPECT_EQ(none.Add({.name = "a"}, "a\tb\n", "client").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(none.List("client").empty());
}

TEST(GlossaryUploadsTest, OutliveTheProcessWithinTheLimits) {
  const TempFolder folder;
  std::string id;
  {
    GlossaryUploads uploads(folder.path(), {.glossaries = 3, .of_client = 2});
    id = uploads.Add({.name = "a", .source_language = "EN", .target_language = "DE"}, "a\tb\n", "one")->id;
    EXPECT_TRUE(uploads.Add({.name = "b"}, "a\tb\n", "one").ok());
    EXPECT_EQ(uploads.Add({.name = "c"}, "a\tb\n", "one").status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(uploads.Add({.name = "c"}, "a\tb\n", "two").ok());
    EXPECT_EQ(uploads.Add({.name = "d"}, "a\tb\n", "two").status().code(), absl::StatusCode::kResourceExhausted);
  }
  WriteFile(folder / ("uploads/" + std::string(32, 'a') + ".json"), "{\"name\": 1}");
  const GlossaryUploads again(folder.path());
  EXPECT_EQ(again.List("one").size(), 2u);
  EXPECT_EQ(again.Find(id, "one")->name, "a");
  EXPECT_EQ(*again.Terms(id, "one"), "a\tb\n");
}

TEST(GlossaryUploadsTest, TheBytesOfOneAreBounded) {
  const TempFolder folder;
  GlossaryUploads uploads(folder.path(), {.bytes = 12});
  EXPECT_TRUE(uploads.Add({.name = "a"}, "house\tHaus\n\n", "one").ok());
  const absl::Status refused = uploads.Add({.name = "b"}, "house\tHaus\na\n", "one").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << "before it is parsed";
  EXPECT_EQ(std::string(refused.message()),
            "entries: 13 bytes; a glossary has at most 12; leave out some terms, or ask the operator of this server to "
            "offer it with --glossaries");
  EXPECT_EQ(uploads.List("one").size(), 1u);
  EXPECT_EQ(GlossaryUploads::Limits().bytes, size_t{4} << 20);
}

TEST(CsvTest, BecomesTsv) {
  EXPECT_EQ(*TsvOfCsv("a,b\r\n\"c, d\",\"e \"\"f\"\"\",en,de\n\nlast,one"), "a\tb\nc, d\te \"f\"\nlast\tone\n");
  EXPECT_EQ(*TsvOfCsv(""), "");
  for (const char* broken : {"a", "a,b\nc", "\"a,b", "\"a\"b,c", "a,\"b\nc\"", "a\tb,c"}) {
    EXPECT_FALSE(TsvOfCsv(broken).ok()) << broken;
  }
  EXPECT_THAT(std::string(TsvOfCsv("a,b\nc").status().message()), HasSubstr("row 2"));
}

TEST_F(CompatGlossariesTest, NamesAreBounded) {
  for (const char* field : {"name", "source_lang", "target_lang"}) {
    json body = {{"name", "a"},
                 {"source_lang", "en"},
                 {"target_lang", "de"},
                 {"entries", "house\tHaus\n"},
                 {"entries_format", "tsv"}};
    body[field] = "en-" + std::string(2000, 'a');
    EXPECT_EQ(Refusal(Post("/v2/glossaries", body)), std::string(field) + ": has 2003 bytes; at most 1024 are taken");
  }
}

TEST_F(CompatGlossariesTest, EntriesCountAsTheirClientsUntilTheyAreRead) {
  std::string entries;
  for (int i = 0; i < 1000; ++i) entries += "house" + std::to_string(i) + "\tHaus\n";
  const std::string path = "/v2/glossaries/" + Made(entries) + "/entries";
  host_.held =
      std::make_unique<Admission>(2 * static_cast<int64_t>(entries.size()));  // of which a client may have half
  HttpResponse unread = Get(path);
  EXPECT_EQ(unread.body, entries);
  EXPECT_EQ(unread.content_type, "text/tab-separated-values; charset=utf-8");
  EXPECT_EQ(Get(path).status, 429);
  unread = HttpResponse();
  EXPECT_EQ(Get(path).status, 200);
}

}  // namespace
}  // namespace salient
