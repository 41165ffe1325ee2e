// Fields, languages, usage and the store, each alone.

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "documents/language.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/admission/retry_delay.h"
#include "server/compat/document_store.h"
#include "server/compat/fields.h"
#include "server/compat/languages.h"
#include "server/compat/texts.h"
#include "server/compat/usage.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

HttpRequest Body(const std::string& body, const std::string& type = "") {
  HttpRequest request;
  request.body = body;
  if (!type.empty()) request.headers["Content-Type"] = type;
  return request;
}

TEST(FieldsTest, JsonAndFormsAreAlike) {
  for (const HttpRequest& request :
       {Body(R"({"text": ["a&b", "c"], "on": true, "n": 3, "tags": ["x,y", "z"]})"),
        Body("text=a%26b&text=c&on=1&n=3&tags=x,y&tags=z", "application/x-www-form-urlencoded")}) {
    const auto fields = Fields::Read(request);
    ASSERT_TRUE(fields.ok()) << fields.status();
    EXPECT_THAT(*fields->Strings("text"), ElementsAre("a&b", "c"));
    EXPECT_THAT(*fields->List("tags"), ElementsAre("x", "y", "z"));
    EXPECT_EQ(*fields->Bool("on"), true);
    EXPECT_EQ(*fields->Int("n"), 3);
    EXPECT_EQ(*fields->String("none"), "");
    EXPECT_FALSE(fields->Bool("none")->has_value());
    EXPECT_FALSE(fields->String("text").ok());
    EXPECT_FALSE(fields->Bool("n").ok());
    EXPECT_FALSE(fields->Int("text").ok());
    EXPECT_EQ(fields->OtherThan({"text", "on"}), "n, tags");
  }
}

TEST(FieldsTest, TheTargetHasFieldsToo) {
  HttpRequest request = Body(R"({"a": "1"})");
  request.query = {{"a", "2"}, {"b", "3"}, {"c", "4"}, {"c", "5"}};
  const auto fields = Fields::Read(request);
  EXPECT_EQ(*fields->String("a"), "1");
  EXPECT_EQ(*fields->String("b"), "3");
  EXPECT_THAT(*fields->Strings("c"), ElementsAre("4", "5"));
  EXPECT_EQ(std::string(fields->String("c").status().message()), "c: has several values; send one");
}

TEST(FieldsTest, RefusesByName) {
  const auto refusal = [](const HttpRequest& request) { return std::string(Fields::Read(request).status().message()); };
  EXPECT_THAT(refusal(Body("{\"a\": ")), HasSubstr("the body is not JSON: an error at byte"));
  EXPECT_THAT(refusal(Body("[1]", "application/json")), HasSubstr("not an object"));
  EXPECT_THAT(refusal(Body("a=%zz")), HasSubstr("not a form"));
  EXPECT_THAT(refusal(Body(std::string(30000, '&'))), HasSubstr("too many fields"));
  EXPECT_THAT(refusal(Body("x", "multipart/form-data; boundary=b")), HasSubstr("multipart"));
  EXPECT_FALSE(Fields::Read(Body(R"({"a": [1]})"))->Strings("a").ok());
}

TEST(FieldsTest, JsonIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(ParseJson(nested(kMaxJsonDepth)).ok());
  EXPECT_THAT(std::string(ParseJson(nested(kMaxJsonDepth + 1)).status().message()), HasSubstr("deeper than 16"));
  EXPECT_FALSE(ParseJson(std::string(10 << 20, '[')).ok());
  std::string wide = "[0";
  for (int i = 0; i < kMaxJsonValues; ++i) wide += ",0";
  EXPECT_THAT(std::string(ParseJson(wide + "]").status().message()), HasSubstr("more than 20000 values"));
}

v1::ListModelsResponse Models(std::initializer_list<std::pair<const char*, const char*>> pairs) {
  v1::ListModelsResponse models;
  for (const auto& [source, target] : pairs) {
    v1::Model& model = *models.add_models();
    model.set_name(std::string(source) + "-" + target);
    model.add_source_languages(source);
    model.add_target_languages(target);
  }
  return models;
}

TEST(LanguagesTest, CodesOfOtherServices) {
  const Languages languages(Models({{"en", "de"}, {"en", "pt-BR"}, {"zh-Hans", "en"}}));
  const auto choose = [&](const std::string& source, const std::string& target) {
    const auto choice = languages.Choose(source, target, "", false);
    return choice.ok() ? choice->source + ">" + choice->target : std::string(choice.status().message());
  };
  EXPECT_EQ(choose("EN", "DE"), "en>de");
  EXPECT_EQ(choose("en_US", "pt"), "en>pt-BR");
  EXPECT_EQ(choose("EN", "PT-BR"), "en>pt-BR");
  EXPECT_EQ(choose("ZH", "EN-GB"), "zh-Hans>en");
  EXPECT_THAT(choose("EN", "FR"), HasSubstr("target language 'FR' is not supported; this server has de, en, pt-BR"));
  EXPECT_THAT(choose("DE", "EN"), HasSubstr("source language 'DE'"));
  EXPECT_THAT(choose("EN", "PT-PT"), HasSubstr("not supported"));
}

TEST(LanguagesTest, WithoutASourceTheTextIsLookedAt) {
  const Languages languages(Models({{"en", "de"}, {"fr", "de"}}));
  constexpr char kFrench[] = "Cette phrase est écrite en français, et elle est assez longue.";
  const auto french = languages.Choose("", "de", kFrench, false);
  ASSERT_TRUE(french.ok()) << french.status();
  EXPECT_EQ(french->source, "fr");
  EXPECT_GT(french->detected[0].confidence, 0.8);
  EXPECT_FALSE(languages.Choose("", "de", "123", false).ok());
  const Languages one(Models({{"en", "de"}}));
  EXPECT_EQ(one.Choose("", "de", "123", false)->source, "en") << "there is no other";
  EXPECT_THAT(std::string(one.Choose("", "de", kFrench, false).status().message()), HasSubstr("detected"));
}

// CLD2 says that the first is Norwegian, the second Danish, and so on, and is sure of it.
TEST(LanguagesTest, AFewWordsAreOfTheOnlySourceWhateverIsDetected) {
  const Languages one(Models({{"en", "de"}}));
  for (const char* words : {"Tablet", "Finger", "Rio de Janeiro", "Spaghetti alla carbonara", "Hello, José García"}) {
    EXPECT_TRUE(DetectLanguages(words, false)[0].is_reliable) << words;
    EXPECT_EQ(one.Choose("", "de", words, false)->source, "en") << words;
  }
  const std::string tags = "<p class=\"a-class-with-a-long-name another-class\">Tablet</p>";
  EXPECT_EQ(one.Choose("", "de", tags, true)->source, "en") << "tags are not counted";
  const Languages several(Models({{"en", "de"}, {"fr", "de"}}));
  EXPECT_EQ(several.Choose("", "de", "Merci beaucoup", false)->source, "fr");
  EXPECT_THAT(std::string(several.Choose("", "de", "Tablet", false).status().message()), HasSubstr("name one of"));
}

TEST(LanguagesTest, ATextInTheTargetLanguageStays) {
  const Languages languages(Models({{"en", "de"}, {"zh-Hans", "zh-Hant"}}));
  const auto choose = [&](const std::string& source, const std::string& target, const std::string& text = "") {
    const auto choice = languages.Choose(source, target, text, false);
    return choice.ok() ? choice->source + ">" + choice->target : std::string(choice.status().message());
  };
  EXPECT_EQ(choose("DE", "de"), "de>de");
  EXPECT_EQ(choose("de-AT", "de-CH"), "de>de");
  EXPECT_EQ(choose("EN-GB", "EN-US"), "en>en") << "although no model has this target";
  EXPECT_EQ(choose("zh-Hans", "zh-Hant"), "zh-Hans>zh-Hant") << "there is a model for it";
  EXPECT_EQ(choose("", "de", "Das ist schon deutsch und bleibt so."), "de>de");
  EXPECT_EQ(choose("", "de", "Guten Morgen, wie geht es dir?"), "de>de");
  EXPECT_EQ(choose("", "en", "This is a sentence in the English language."), "en>en");
  EXPECT_THAT(choose("", "en", "Das ist schon deutsch und bleibt so."), HasSubstr("target language 'en' is not"));
  EXPECT_THAT(choose("de", "en"), HasSubstr("target language 'en' is not supported; this server has de"));
  EXPECT_THAT(choose("fr", "fr"), HasSubstr("target language 'fr' is not supported"));
  EXPECT_EQ(Languages(Models({{"en", "de"}})).Choose("", "de", "Wand", false)->source, "en") << "is not sure";
}

TEST(LanguagesTest, ADocumentInTheTargetLanguageIsRefused) {
  const Languages languages(Models({{"en", "de"}}));
  const auto refusal = [&](const std::string& source, const std::string& content) {
    return std::string(languages.Choose(source, "de", *TypeOfFile("a.html")->format, content).status().message());
  };
  EXPECT_EQ(refusal("de", "<p>a"), "the document is in the target language 'de' already");
  EXPECT_EQ(refusal("", "<p>Das ist schon deutsch und bleibt so."), refusal("de", "<p>a"));
  EXPECT_EQ(refusal("", "<p>This is English, and stays so for a while."), "");
}

TEST(LanguagesTest, Detection) {
  EXPECT_EQ(DetectLanguages("This is a sentence in the English language, and here is another.", false)[0].language,
            "en");
  EXPECT_EQ(DetectLanguages("<p lang=x>Dies ist ein Satz in deutscher Sprache, und hier ist noch einer.</p>", true)[0]
                .language,
            "de");
  EXPECT_THAT(DetectLanguages("", false), IsEmpty());
  EXPECT_THAT(DetectLanguages("12 34", false), IsEmpty());
  EXPECT_THAT(DetectLanguages("\xff\xfe", false), IsEmpty());
  std::string much;  // ends within a character
  for (int i = 0; i < 9000; ++i) much += "ä";
  DetectLanguages(much, false);
  EXPECT_EQ(LanguageName("DE"), "German");
  EXPECT_EQ(LanguageName("de", "fr"), "allemand");
}

TEST(UsageTest, ForgetsWhoWasAwayTheLongest) {
  Usage usage(2);
  usage.Add("a", 3);
  usage.Add("b", 4);
  usage.Add("a", 5);
  usage.Add("c", 1);
  EXPECT_EQ(usage.Of("a"), 8);
  EXPECT_EQ(usage.Of("b"), 0);
  EXPECT_EQ(usage.Of("c"), 1);
  EXPECT_EQ(CountCharacters("größe 日本"), 8);
}

StoredDocument From(const std::string& client) {
  StoredDocument document;
  document.client = client;
  return document;
}

TEST(DocumentStoreTest, IsBounded) {
  DocumentStore store({.max_documents = 3, .max_bytes = 40000});
  const auto first = store.Add(From("a"), 8000);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->id.size(), 32u);
  EXPECT_NE(first->id, first->key);
  const auto refused = store.Add(From("a"), 8000);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << "a client has half of the room";
  EXPECT_TRUE(GetRetryDelay(refused.status()).has_value());
  EXPECT_TRUE(store.Add(From("b"), 8000).ok());
  EXPECT_FALSE(store.Add(From("c"), 8000).ok());
  EXPECT_TRUE(store.Add(From("c"), 10).ok());
  EXPECT_FALSE(store.Add(From("d"), 10).ok()) << "three documents";
  store.Remove(first->id);
  EXPECT_TRUE(store.Add(From("d"), 10).ok());
}

TEST(DocumentStoreTest, SmallDocumentsOfOneClientLeaveRoomForOthers) {
  DocumentStore store({.max_documents = 4});
  const auto first = store.Add(From("a"), 10);
  EXPECT_TRUE(store.Add(From("a"), 10).ok());
  EXPECT_FALSE(store.Add(From("a"), 10).ok()) << "a client has half of the documents";
  EXPECT_TRUE(store.Add(From("b"), 10).ok());
  store.Remove(first->id);
  EXPECT_TRUE(store.Add(From("a"), 10).ok());
}

TEST(DocumentStoreTest, ATranslationThatIsTooLongFails) {
  DocumentStore store({.max_bytes = 6000});
  const auto document = store.Add(From("a"), 100);
  v1::TranslateDocumentResponse response;
  response.set_content(std::string(5000, 'x'));
  store.Finish(document->id, response);
  EXPECT_EQ(store.Find(document->id)->state, DocumentState::kFailed);
  EXPECT_TRUE(store.Add(From("a"), 100).ok());
}

TEST(DocumentStoreTest, ForgetsWhatWasNotFetched) {
  DocumentStore store({.keep = absl::ZeroDuration()});
  const auto document = store.Add(From("a"), 100);
  EXPECT_TRUE(store.Find(document->id).ok()) << "is still translated";
  store.Finish(document->id, v1::TranslateDocumentResponse());
  absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(absl::IsNotFound(store.Find(document->id).status()));
}

TEST(TextRequestsTest, TooManyAreRefusedBeforeTheyAreMade) {
  const v1::ListModelsResponse models = Models({{"en", "de"}});
  const auto make = [&](size_t texts) {
    return MakeTextRequests(models, {}, "en", "de", std::vector<std::string>(texts, "a"), Markup::kNone).status();
  };
  EXPECT_TRUE(make(kMostTexts).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(make(kMostTexts + 1)));
}

TEST(TextRequestsTest, EachLongTextIsLookedAtByItself) {
  constexpr char kEnglish[] = "The server is running and the disk is full.";
  constexpr char kFrench[] = "Bonjour tout le monde, comment allez-vous?";
  constexpr char kGerman[] = "Das ist ein ganz normaler deutscher Satz, und er ist lang.";
  const auto sources = [](const v1::ListModelsResponse& models, const std::vector<std::string>& texts) {
    const auto made = MakeTextRequests(models, {}, "", "de", texts, Markup::kNone);
    if (!made.ok()) return std::vector<std::string>{std::string(made.status().message())};
    std::vector<std::string> languages;
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(made->languages[i].source, made->requests[i].source_language());
      languages.push_back(made->languages[i].source);
    }
    return languages;
  };
  const v1::ListModelsResponse one = Models({{"en", "de"}}), two = Models({{"en", "de"}, {"fr", "de"}});
  EXPECT_THAT(sources(two, {kEnglish, kFrench, kGerman}), ElementsAre("en", "fr", "de"));
  EXPECT_THAT(sources(one, {"Save", kGerman}), ElementsAre("en", "de"));
  EXPECT_THAT(sources(two, {"Merci beaucoup", kEnglish, "et au revoir"}), ElementsAre("fr", "en", "fr"));
  EXPECT_THAT(sources(two, {"", kFrench, "12345"}), ElementsAre("fr", "fr", "fr")) << "the others tell it";
  EXPECT_THAT(sources(one, {kEnglish, kFrench}), ElementsAre(HasSubstr("text 2 of 2: to this target, the detected")));
}

}  // namespace
}  // namespace salient
