// Glossaries and translation memories of requests and of the server, with an engine that translates to capitals.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/call.h"
#include "documents/formats/memory_file.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "server/request/language_resources.h"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::TranslateDocumentResponse Translated(TestServer& server, const v1::TranslateDocumentRequest& request) {
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  const grpc::Status status = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

void AddTerm(const std::string& source, const std::string& target, v1::TranslateDocumentRequest* request) {
  v1::Term* term = request->mutable_glossary()->add_terms();
  term->set_source(source);
  term->set_target(target);
}

void AddEntry(const std::string& source, const std::string& translation, v1::TranslateDocumentRequest* request) {
  v1::MemoryEntry* entry = request->mutable_memory()->add_entries();
  entry->set_source(source);
  entry->set_translation(translation);
}

std::vector<std::string> Texts(const v1::TranslateDocumentResponse& response) {
  std::vector<std::string> texts;
  for (const v1::TranslatedSegment& segment : response.segments()) texts.push_back(segment.text());
  return texts;
}

TEST(GlossaryRequestTest, AFileOfTermsAddsToTheOthers) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Open the data base. Stop the server.");
  request.mutable_glossary()->set_content("data base\tDatenbank\nserver\tDienst\n");
  EXPECT_EQ(Translated(server, request).text(), "OPEN THE Datenbank. STOP THE Dienst.");
  AddTerm("data base", "Daten", &request);
  const v1::TranslateDocumentResponse own = Translated(server, request);
  EXPECT_EQ(own.segments(0).terms(0).target(), "Daten") << "single terms come after those of the file";
  EXPECT_EQ(own.segments(1).terms(0).target(), "Dienst");
  request.mutable_glossary()->set_content("data base\n");
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  const grpc::Status refused = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("glossary.content: line 1 is not a source, a tab and"));
}

// Of 320,000 bytes for documents a client may have half.
TEST(GlossaryRequestTest, TermsCountAsTheMemoryThatTheyTake) {
  TestServer server({.automatic = false}, 10000);
  server.Start();
  std::thread other([&server] { Translated(server, RequestFor("text")); });
  server.engine().WaitForAdmitted(1);
  v1::TranslateDocumentRequest request = RequestFor("text");
  for (int i = 0; i < 10000; ++i) AddTerm("a", "b", &request);
  EXPECT_LT(request.ByteSizeLong(), 100000u);
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const grpc::Status refused = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  server.engine().Finish(0);
  other.join();
}

TEST(GlossaryRequestTest, TermsStandInTheTranslation) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Open the data base now.\n\nNo terms here.\n\nData bases.\n");
  AddTerm("data base", "Datenbank", &request);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  EXPECT_EQ(response.text(), "OPEN THE Datenbank NOW.\n\nNO TERMS HERE.\n\nDATA BASES.\n");
  ASSERT_EQ(response.segments_size(), 3);
  ASSERT_EQ(response.segments(0).terms_size(), 1);
  EXPECT_EQ(response.segments(0).terms(0).source(), "data base");
  EXPECT_TRUE(response.segments(0).terms(0).used());
  EXPECT_EQ(response.segments(0).text(), "OPEN THE Datenbank NOW.");
  EXPECT_EQ(response.segments(1).terms_size(), 0);
}

TEST(GlossaryRequestTest, ATargetThatIsThereAnywayStaysWhereItIs) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Open the data base now. The data.");
  AddTerm("data", "now", &request);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  // The engine of the test goes on at the same byte.
  EXPECT_THAT(Texts(response), ElementsAre("OPEN THE DATA BASE NOW.", "THE nowA."));
  EXPECT_TRUE(response.segments(0).terms(0).used());
}

TEST(GlossaryRequestTest, ATermAcrossAMarkerIsUsed) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_content("<p>The <b>data</b> base and data base.</p>");
  request.mutable_document()->set_mime_type("text/html");
  AddTerm("data base", "Datenbank", &request);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  EXPECT_EQ(response.content(), "<p>THE <b>Datenbank</b> AND Datenbank.</p>") << "placed by the order of words";
  ASSERT_EQ(response.segments(0).terms_size(), 2);
  EXPECT_TRUE(response.segments(0).terms(0).used());
  EXPECT_TRUE(response.segments(0).terms(1).used());
}

TEST(GlossaryRequestTest, TheSearchGoesOnFromTheTargetThatIsLacking) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("All is well. Open the data base now.");
  request.set_guard(v1::GUARD_OFF);
  AddTerm("data base", "Daten", &request);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  ASSERT_EQ(server.engine().admitted(), 2);
  EXPECT_EQ(server.engine().request(0).options.search.prefix, "");
  const TranslationRequest second = server.engine().request(1);
  EXPECT_EQ(second.text, "Open the data base now.");
  EXPECT_EQ(second.options.search.prefix, "OPEN THE Daten");
  // The engine of the test goes on at the same byte.
  EXPECT_EQ(response.text(), "ALL IS WELL. OPEN THE DatenBASE NOW.");
  EXPECT_TRUE(response.segments(1).terms(0).used());
  EXPECT_GT(response.report().retry_target_tokens(), 0);
}

TEST(GlossaryRequestTest, WhereNoTermIsLackingNothingIsTranslatedAgain) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Open the data base now.");
  AddTerm("data base", "base", &request);
  EXPECT_EQ(Translated(server, request).text(), "OPEN THE DATA BASE NOW.");
  AddTerm("machine", "Rechner", &request);
  EXPECT_TRUE(Translated(server, request).segments(0).terms(0).used());
  EXPECT_EQ(server.engine().admitted(), 2);
}

TEST(MemoryRequestTest, KnownSegmentsAreTakenOver) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("One two. Known  one. Three. Known one.");
  AddEntry("Known one.", "Bekannt.", &request);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  EXPECT_EQ(response.text(), "ONE TWO. Bekannt. THREE. Bekannt.");
  EXPECT_THAT(Texts(response), ElementsAre("ONE TWO.", "Bekannt.", "THREE.", "Bekannt."));
  EXPECT_EQ(response.segments(0).origin(), v1::ORIGIN_MODEL);
  EXPECT_EQ(response.segments(1).origin(), v1::ORIGIN_MEMORY);
  EXPECT_EQ(response.segments(3).index(), 3);
  EXPECT_EQ(response.report().segments(), 4);
}

void AddFile(const std::string& content, std::string_view mime_type, v1::TranslateDocumentRequest* request) {
  v1::MemoryFile* file = request->mutable_memory()->add_files();
  file->set_content(content);
  file->set_mime_type(std::string(mime_type));
}

TEST(MemoryRequestTest, FilesAreReadLaterOnesFirstAndEntriesBeforeAll) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("One. Two. Three. Four.");
  AddFile("msgid \"One.\"\nmsgstr \"po 1\"\n\nmsgid \"Two.\"\nmsgstr \"po 2\"\n", kPoMimeType, &request);
  AddFile("Two.\ttsv 2\nThree.\ttsv 3\n", kTsvMimeType, &request);
  AddEntry("Three.", "entry 3", &request);
  EXPECT_THAT(Texts(Translated(server, request)), ElementsAre("po 1", "tsv 2", "entry 3", "FOUR."));
}

TEST(MemoryRequestTest, FilesThatCannotBeUsedAreRefusedByName) {
  TestServer server;
  server.Start();
  const auto refusal = [&server](const std::string& content, std::string_view mime_type, int files = 1) {
    v1::TranslateDocumentRequest request = RequestFor("One.");
    for (int i = 0; i < files; ++i) AddFile(content, mime_type, &request);
    grpc::ClientContext context;
    v1::TranslateDocumentResponse response;
    const grpc::Status status = server.stub().TranslateDocument(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_THAT(refusal("a\tb\n", "text/csv"), HasSubstr("memory.files[0]: mime_type: 'text/csv' is none of"));
  EXPECT_THAT(refusal("a b\n", kTsvMimeType), HasSubstr("memory.files[0]: line 1 has no tab"));
  EXPECT_THAT(refusal("<tmx", kTmxMimeType), HasSubstr("memory.files[0]: TMX"));
  EXPECT_THAT(refusal("a\tb\n", kTsvMimeType, 17), HasSubstr("memory.files: has 17 entries; at most 16"));
  std::string many;
  for (int i = 0; i < 100'001; ++i) absl::StrAppend(&many, i, "\tb\n");
  EXPECT_THAT(refusal(many, kTsvMimeType), HasSubstr("memory.files[0]: has more than 100000 entries"));
}

TEST(MemoryRequestTest, RepeatsAreTranslatedOnce) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("One. Two. One. Two. Three.");
  request.mutable_memory()->set_repeats(true);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  EXPECT_EQ(response.text(), "ONE. TWO. ONE. TWO. THREE.");
  EXPECT_EQ(response.segments(2).origin(), v1::ORIGIN_REPEAT);
  EXPECT_EQ(response.segments(4).origin(), v1::ORIGIN_MODEL);
}

TEST(MemoryRequestTest, AllKnownIsADocument) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("One.");
  AddEntry("One.", "Eins.", &request);
  EXPECT_EQ(Translated(server, request).text(), "Eins.");
}

TEST(MemoryRequestTest, EntriesThatAreAlikeAreSuggested) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Press the red key now.");
  AddEntry("Press the green key now.", "Jetzt die grüne Taste.", &request);
  request.mutable_memory()->set_suggestions_from(0.6);
  const v1::TranslateDocumentResponse response = Translated(server, request);
  ASSERT_EQ(response.segments(0).suggestions_size(), 1);
  EXPECT_EQ(response.segments(0).suggestions(0).translation(), "Jetzt die grüne Taste.");
  EXPECT_GT(response.segments(0).suggestions(0).score(), 0.7);
}

v1::TranslateDocumentRequest KnownAndRepeated() {
  v1::TranslateDocumentRequest request = RequestFor("Known. One. One. Known. Two. Known.");
  AddEntry("Known.", "Bekannt.", &request);
  request.mutable_memory()->set_repeats(true);
  return request;
}

TEST(MemoryRequestTest, EverySegmentIsStreamedOnceAndInOrder) {
  TestServer server;
  server.Start();
  const v1::TranslateDocumentRequest request = KnownAndRepeated();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, request);
  v1::StreamTranslateDocumentResponse event;
  std::vector<std::string> texts(6);
  int segments = 0;
  while (reader->Read(&event)) {
    if (!event.has_segment()) continue;
    EXPECT_EQ(event.segment().index(), segments++);
    texts[event.segment().index()] = event.segment().text();
    EXPECT_EQ(event.segment().origin() == v1::ORIGIN_REPEAT, event.segment().index() == 2);
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(segments, 6);
  EXPECT_THAT(texts, ElementsAre("Bekannt.", "ONE.", "ONE.", "Bekannt.", "TWO.", "Bekannt."));
}

TEST(MemoryRequestTest, ProgressIsTheWholeDocuments) {
  TestServer server({.automatic = false});
  server.Start();
  const v1::TranslateDocumentRequest request = KnownAndRepeated();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, request);
  server.engine().WaitForAdmitted(1);
  v1::StreamTranslateDocumentResponse event;
  std::vector<int> done;
  for (int of_engine = 0; of_engine <= 2; ++of_engine) {
    if (of_engine > 0) server.engine().Segment(0, of_engine - 1);
    server.engine().Progress(0, of_engine, 2);
    do {
      ASSERT_TRUE(reader->Read(&event));
    } while (!event.has_progress());
    EXPECT_EQ(event.progress().segments_total(), 6);
    done.push_back(event.progress().segments_done());
  }
  EXPECT_THAT(done, ElementsAre(1, 4, 6));
}

// A reply that lacks a segment, or has another order, is a loss to the client.
TEST(MemoryRequestTest, TheClientTakesKnownAndRepeatedSegments) {
  TestServer server({.automatic = false});
  server.Start();
  for (const auto& [text, of_engine] : {std::pair("One. Known. One. Two. One.", 2), {"Known. Known.", 0}}) {
    v1::TranslateDocumentRequest request = RequestFor(text);
    AddEntry("Known.", "Bekannt.", &request);
    request.mutable_memory()->set_repeats(true);
    const int document = server.engine().admitted();
    std::thread engine([&server, document, segments = of_engine] {
      server.engine().WaitForAdmitted(document + 1);
      server.engine().Progress(document, 0, std::max(segments, 1));
      for (int i = 0; i < segments; ++i) server.engine().Segment(document, i);
      server.engine().Finish(document);
    });
    const auto translation = TranslateOne(server.stub(), request, {}, [](const DocumentProgress&) {});
    EXPECT_TRUE(translation.ok()) << translation.status();
    engine.join();
  }
}

TEST(MemoryRequestTest, AServerWithoutAMemorySaysSo) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("One.");
  request.mutable_memory()->set_server(true);
  v1::TranslateDocumentResponse response;
  grpc::ClientContext context;
  const grpc::Status refused = server.stub().TranslateDocument(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(refused.error_message(), HasSubstr("memory.server: this server has no translation memory"));
}

// An entry may be long, and like every segment.
TEST(MemoryRequestTest, WhatIsKnownOfAllSegmentsIsBounded) {
  TestServer server;
  server.Start();
  const auto refusal = [&server](const std::string& sentence, int sentences) {
    std::string text;
    for (int i = 0; i < sentences; ++i) absl::StrAppend(&text, sentence, " ");
    v1::TranslateDocumentRequest request = RequestFor(text);
    AddEntry("Press the green key now.", std::string(1 << 20, 'a'), &request);
    request.mutable_memory()->set_suggestions_from(0.6);
    grpc::ClientContext context;
    v1::TranslateDocumentResponse response;
    const grpc::Status status = server.stub().TranslateDocument(&context, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  constexpr char kTooMuch[] = "memory: its translations and suggestions for all segments take more than 67108864 bytes";
  EXPECT_THAT(refusal("Press the green key now.", 65), HasSubstr(kTooMuch));
  EXPECT_THAT(refusal("Press the red key now.", 65), HasSubstr(kTooMuch));
}

class NamedResourcesTest : public ::testing::Test {
 protected:
  NamedResourcesTest() {
    WriteFile(folder_ / "it.tsv", "data base\tDatenbank\nserver\tServer\n");
    WriteFile(folder_ / "memory.tsv", "One.\tEins.\nTwo.\tZwei.\nPress the green key now.\tGrün.\n");
    server_.Start();
  }

  const TempFolder folder_;
  TestServer server_{FakeEngineOptions(),
                     ServerOptions{.resources = std::make_shared<LanguageResources>(
                                       folder_.path(), std::vector<std::string>{folder_ / "memory.tsv"})}};
};

TEST_F(NamedResourcesTest, TermsOfTheRequestCountBeforeThoseOfTheGlossaryThatItNames) {
  v1::TranslateDocumentRequest request = RequestFor("Open the data base.\n\nStop the server.");
  request.mutable_glossary()->set_name("it");
  EXPECT_EQ(Translated(server_, request).text(), "OPEN THE Datenbank.\n\nSTOP THE SERVER.");
  v1::TranslateDocumentRequest own = request;
  AddTerm("data base", "Daten", &own);
  AddTerm("stop", "Halt", &own);
  const v1::TranslateDocumentResponse response = Translated(server_, own);
  EXPECT_EQ(response.segments(0).terms(0).target(), "Daten");
  ASSERT_EQ(response.segments(1).terms_size(), 2);
  EXPECT_EQ(response.segments(1).terms(0).target(), "Halt");
  EXPECT_EQ(response.segments(1).terms(1).target(), "Server");
  EXPECT_EQ(Translated(server_, request).segments(0).terms(0).target(), "Datenbank") << "others see nothing of it";
}

TEST_F(NamedResourcesTest, EntriesOfTheRequestCountBeforeTheServers) {
  v1::TranslateDocumentRequest request = RequestFor("One. Two. Press the red key now.");
  request.mutable_memory()->set_server(true);
  request.mutable_memory()->set_suggestions_from(0.5);
  v1::TranslateDocumentRequest own = request;
  AddEntry("Two.", "Zwo.", &own);
  AddEntry("Press the red button now.", "Rot.", &own);
  const v1::TranslateDocumentResponse response = Translated(server_, own);
  EXPECT_THAT(Texts(response), ElementsAre("Eins.", "Zwo.", "PRESS THE RED KEY NOW."));
  ASSERT_EQ(response.segments(2).suggestions_size(), 2);
  EXPECT_EQ(response.segments(2).suggestions(0).translation(), "Grün.") << "the server's are first of equal ones";
  EXPECT_EQ(response.segments(2).suggestions(1).translation(), "Rot.");
  EXPECT_THAT(Texts(Translated(server_, request)), ElementsAre("Eins.", "Zwei.", "PRESS THE RED KEY NOW."));
}

class LanguageResourcesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    WriteFile(folder_ / name, text);
    return folder_ / name;
  }

  const TempFolder folder_;
};

TEST_F(LanguageResourcesTest, AGlossaryIsReadAgainWhenItChanges) {
  LanguageResources resources(folder_.path(), {});
  EXPECT_TRUE(resources.Check().ok());
  const std::string path = Write("it.tsv", "a\tb\n");
  const auto first = resources.GlossaryNamed("it");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->term(0).target, "b");
  Write("it.tsv", "a\tc\n");
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  const auto second = resources.GlossaryNamed("it");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ((*second)->term(0).target, "c");
}

TEST_F(LanguageResourcesTest, WhatIsNotThereIsNamed) {
  Write("it.tsv", "a\tb\n");
  Write("bad.tsv", "a\n");
  LanguageResources resources(folder_.path(), {});
  EXPECT_THAT(resources.GlossaryNamed("no").status().message(), HasSubstr("there are: bad, it"));
  for (const char* name : {"", "..", "../it", "/etc/passwd", "a/b"}) {
    EXPECT_TRUE(absl::IsNotFound(resources.GlossaryNamed(name).status())) << name;
  }
  EXPECT_FALSE(LanguageResources(folder_ / "none", {}).Check().ok());
  EXPECT_FALSE(LanguageResources("", {folder_ / "none.tsv"}).Check().ok());
  EXPECT_FALSE(LanguageResources("", {Write("memory.txt", "")}).Check().ok());
}

// It is not the client's fault, and folders of the server are not its business.
TEST_F(LanguageResourcesTest, AFileOfTheServerThatCannotBeUsedIsNamedWithoutItsFolder) {
  const std::string bad = Write("bad.tsv", "a\n");
  LanguageResources resources(folder_.path(), {bad});
  EXPECT_EQ(resources.GlossaryNamed("bad").status(),
            absl::FailedPreconditionError(
                "glossary.name: the server's file bad.tsv cannot be used; tell its operator: "
                "line 1 is not a source, a tab and its target, and perhaps a tab and the flags c and i"));
  EXPECT_EQ(resources.MemoryOf("en", "de").status(),
            absl::FailedPreconditionError("memory.server: the server's file bad.tsv cannot be used; tell its operator: "
                                          "line 1 has no tab between a source and its translation"));
  std::filesystem::remove(bad);
  const absl::Status unread = LanguageResources("", {bad}).MemoryOf("en", "fr").status();
  EXPECT_THAT(unread.message(), HasSubstr("the server's file bad.tsv cannot be used; tell its operator: cannot be"));
  EXPECT_THAT(unread.message(), ::testing::Not(HasSubstr(folder_.path())));
  EXPECT_THAT(LanguageResources("", {Write("broken.tmx", "<tmx")}).MemoryOf("en", "de").status().message(),
              HasSubstr("the server's file broken.tmx cannot be used"));
}

// A client may name ever new languages of a model that has many.
TEST_F(LanguageResourcesTest, FilesAreNotReadAgainForLanguagesThatTheyDoNotHave) {
  const std::string tmx = Write("memory.tmx",
                                "<tmx version='1.4'><header/><body><tu><tuv xml:lang='en-US'><seg>One.</seg></tuv>"
                                "<tuv xml:lang='de'><seg>Eins.</seg></tuv><tuv><seg>?</seg></tuv></tu></body></tmx>");
  LanguageResources resources("", {tmx, Write("memory.tsv", "Two.\tZwei.\n")});
  const auto german = resources.MemoryOf("en", "de");
  const auto swedish = resources.MemoryOf("en", "sv");
  ASSERT_TRUE(german.ok() && swedish.ok());
  EXPECT_EQ((*german)->size(), 2);
  EXPECT_EQ((*swedish)->size(), 1) << "lines have no languages";
  std::filesystem::remove(tmx);
  EXPECT_EQ(resources.MemoryOf("EN-gb", "de_AT").value(), *german);
  EXPECT_EQ(resources.MemoryOf("fi", "de").value(), *swedish);
}

TEST_F(LanguageResourcesTest, NoNameIsThatOfAGlossaryOfAClient) {
  Write("it.tsv", "a\tb\n");
  std::filesystem::create_directory(folder_ / "uploads");
  Write("uploads/0123.tsv", "a\tc\n");
  LanguageResources resources(folder_.path(), {});
  EXPECT_THAT(resources.GlossaryNames(), ElementsAre("it"));
  EXPECT_TRUE(resources.GlossaryOfClient("0123").ok());
  EXPECT_TRUE(absl::IsNotFound(resources.GlossaryOfClient("it").status()));
  for (const char* name : {"0123", "uploads/0123", "./uploads/0123"}) {
    EXPECT_TRUE(absl::IsNotFound(resources.GlossaryNamed(name).status())) << name;
  }
  EXPECT_THAT(std::string(resources.GlossaryNamed("4567").status().message()), HasSubstr("there are: it"));
  EXPECT_GT(resources.GlossaryChanged("it"), absl::Now() - absl::Hours(1));
}

TEST_F(LanguageResourcesTest, GlossariesOfClientsStayWithinTheirBytes) {
  std::filesystem::create_directory(folder_ / "uploads");
  for (const char* name : {"own.tsv", "uploads/a.tsv", "uploads/b.tsv", "uploads/c.tsv"}) Write(name, "a\tb\n");
  const size_t bytes = Glossary::Parse("a\tb\n")->bytes();
  LanguageResources resources(folder_.path(), {}, /*upload_bytes=*/2 * bytes);
  const auto now = [&resources](const char* id) { return std::weak_ptr(*resources.GlossaryOfClient(id)); };
  const auto own = std::weak_ptr(*resources.GlossaryNamed("own")), a = now("a"), b = now("b");
  EXPECT_EQ(now("a").lock(), a.lock()) << "it is not read again";
  const auto c = now("c");
  EXPECT_TRUE(b.expired()) << "it was used before the others";
  EXPECT_FALSE(a.expired() || c.expired());
  EXPECT_FALSE(own.expired()) << "the operator's stay";
  std::filesystem::remove(folder_ / "uploads/a.tsv");
  EXPECT_FALSE(now("b").expired());
  EXPECT_TRUE(a.expired());
  EXPECT_FALSE(c.expired()) << "there was room, since a is gone";
}

TEST_F(LanguageResourcesTest, TheFirstMemoryCounts) {
  LanguageResources resources("", {Write("one.tsv", "a\tx\n"), Write("two.tsv", "a\ty\nb\tz\n")});
  ASSERT_TRUE(resources.Check().ok());
  const auto memory = resources.MemoryOf("en", "de");
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(*(*memory)->Find("a"), "x");
  EXPECT_EQ(*(*memory)->Find("b"), "z");
}

}  // namespace
}  // namespace salient
