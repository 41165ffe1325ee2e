// The program `salient` against a server whose engine is the test's: what it prints where, and how it exits.

#include "client/translate.h"

#include <sstream>
#include <string>
#include <thread>

#include "client/connection.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/process.h"
#include "tests/server/test_server.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class TranslateTest : public ::testing::Test {
 protected:
  TranslateTest() { server_.Start(); }

  ProcessResult Salient(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), SALIENT_PROGRAM);
    arguments.push_back("--server");
    arguments.push_back(server_.address());
    return RunProgram(arguments, input);
  }

  std::string File(const std::string& name, const std::string& text) {
    WriteFile(folder_ / name, text);
    return folder_ / name;
  }

  TempFolder folder_;
  TestServer server_;
};

TEST_F(TranslateTest, StandardInputToStandardOutput) {
  const ProcessResult result = Salient({"translate"}, "one\ntwo\n");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "ONE\nTWO\n");
  EXPECT_THAT(result.err, AllOf(HasSubstr("model fake"), HasSubstr("standard input")));
}

TEST_F(TranslateTest, FilesInTheirOrder) {
  const ProcessResult result = Salient({"translate", File("a", "a\n"), File("b", "b\n"), File("c", "c\n"), "--quiet"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.out, "A\nB\nC\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(TranslateTest, FormatsAreToldByNames) {
  const std::string page = File("page.html", "<p>One <b>bold</b> word</p>"), film = File("film.srt",
                                                                                         "1\n00:00:01,000 --> "
                                                                                         "00:00:02,000\nyes\n");
  const ProcessResult result = Salient({"translate", page, film, "--to", "de", "--out", folder_ / "de/"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(ReadFile(folder_ / "de/page.de.html"), "<p>ONE <b>BOLD</b> WORD</p>");
  EXPECT_EQ(ReadFile(folder_ / "de/film.de.srt"), "1\n00:00:01,000 --> 00:00:02,000\nYES\n");
}

TEST_F(TranslateTest, AFormatMayBeNamed) {
  const ProcessResult result =
      Salient({"translate", "--format", "json", "--keep", "Bay", "--quiet"}, "{\"a\": \"Blue Bay\"}");
  EXPECT_EQ(result.out, "{\"a\": \"BLUE Bay\"}");
  const ProcessResult bad = Salient({"translate", "--format", "json"}, "{");
  EXPECT_EQ(bad.exit_status, 1);
  EXPECT_THAT(bad.err, HasSubstr("document.content: JSON: byte"));
}

TEST_F(TranslateTest, TermsAreKeptInPlainText) {
  EXPECT_EQ(Salient({"translate", "--keep", "Blue Bay", "--quiet"}, "We saw Blue Bay.\n").out, "WE SAW Blue Bay.\n");
  EXPECT_EQ(Salient({"translate", "--keep", "Bay", "--lines", "--markup", "place", "-q"}, "One. A Bay\ntwo\n").out,
            "ONE. A Bay\nTWO\n");
}

TEST_F(TranslateTest, AWayOfMarkupIsNoMistakeBesideAText) {
  const ProcessResult result =
      Salient({"translate", File("a.md", "*One*\n"), File("b.txt", "two\n"), "--markup", "place", "--quiet"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "*ONE*\nTWO\n");
}

TEST_F(TranslateTest, AFileInPlaceOfAGlossarysNameIsSaid) {
  const std::string terms = File("terms.tsv", "bay\tBucht\n");
  const ProcessResult result = Salient({"translate", "--glossary", terms}, "A bay.\n");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("there are: none; to send the file " + terms + ", give it as --glossary-file"));
  const ProcessResult name = Salient({"translate", "--glossary", "terms"}, "A bay.\n");
  EXPECT_THAT(name.err, AllOf(HasSubstr("there is no glossary 'terms'"), Not(HasSubstr("--glossary-file"))));
}

TEST_F(TranslateTest, AnEmptyFileOfTermsHasNone) {
  const ProcessResult result = Salient({"translate", "--glossary-file", File("terms.tsv", ""), "-q"}, "A bay.\n");
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.out, "A BAY.\n");
}

TEST_F(TranslateTest, AFileOfAnUnknownFormatIsRefused) {
  const std::string table = File("a.csv", "one,two\n"), text = File("b", "b");
  const ProcessResult result = Salient({"translate", table, text, "--out", folder_ / "de/"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("a.csv: its extension is .csv"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "de/a.csv"));
  EXPECT_EQ(ReadFile(folder_ / "de/b"), "B");
  EXPECT_EQ(Salient({"translate", table, "--format", "text", "--quiet"}).out, "ONE,TWO\n");
}

TEST_F(TranslateTest, IntoAFileAndIntoAFolder) {
  const std::string a = File("a.txt", "a"), b = File("b.txt", "b");
  EXPECT_EQ(Salient({"translate", a, "--out", folder_ / "de.txt"}).out, "");
  EXPECT_EQ(ReadFile(folder_ / "de.txt"), "A");
  EXPECT_EQ(Salient({"translate", a, b, "--out", folder_ / "de"}).exit_status, 0);
  EXPECT_EQ(ReadFile(folder_ / "de/a.txt"), "A");
  EXPECT_EQ(ReadFile(folder_ / "de/b.txt"), "B");
}

TEST_F(TranslateTest, AJsonObjectADocument) {
  const ProcessResult result =
      Salient({"translate", File("a", "a\nb"), "--report", "json", "--selection", "ratio:0.05"});
  EXPECT_EQ(result.exit_status, 0);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["text"], "A\nB");
  EXPECT_EQ(json["target_tokens"], 3);
  EXPECT_EQ(json["segments_in"], 2);
  EXPECT_EQ(json["segments_out"], 2);
  EXPECT_EQ(json["selection"]["policy"], "RATIO");
  EXPECT_EQ(json["exit_histogram"][1], 3);
  EXPECT_EQ(result.err, "");
}

TEST_F(TranslateTest, TheNameOfAFileNeedNotBeUtf8) {
  const ProcessResult result = Salient({"translate", File("caf\xE9", "a"), File("b", "b"), "--report", "json"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"A\""), HasSubstr("\"B\"")));
}

TEST_F(TranslateTest, WithAFileTheJsonHoldsNoText) {
  const ProcessResult result = Salient({"translate", File("a", "a"), "--report", "json", "--out", folder_ / "b"});
  EXPECT_FALSE(nlohmann::json::parse(result.out).contains("text"));
  EXPECT_EQ(ReadFile(folder_ / "b"), "A");
}

TEST_F(TranslateTest, OneFailureLosesNoOtherDocument) {
  const ProcessResult result =
      Salient({"translate", File("a", "a"), folder_ / "none", File("bad", "\xFF"), File("b", "b"), "--report", "json"});
  EXPECT_EQ(result.exit_status, 1);
  std::istringstream lines(result.out);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 4);
  EXPECT_EQ(objects[0]["text"], "A");
  EXPECT_EQ(objects[1]["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(objects[2]["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(objects[3]["text"], "B");
  EXPECT_THAT(result.err, AllOf(HasSubstr("none: cannot be read"), HasSubstr("bad: is not UTF-8 at byte 0")));
}

TEST_F(TranslateTest, AFileThatCannotBeReadToItsEndLosesNoOtherDocument) {
  const ProcessResult result = Salient(
      {"translate", "--format", "text", File("a.txt", "a"), "/proc/self/mem", File("b", "b"), "--out", folder_ / "d/"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("salient: /proc/self/mem: cannot be read to its end"));
  EXPECT_EQ(ReadFile(folder_ / "d/a.txt"), "A");
  EXPECT_EQ(ReadFile(folder_ / "d/b"), "B");
}

TEST_F(TranslateTest, ADocumentMayHaveTheNameOfAnUnfinishedOne) {
  const std::string notes = File("notes.part", "one");
  EXPECT_EQ(Salient({"translate", "--format", "text", notes, "--out", folder_ / "notes"}).exit_status, 0);
  EXPECT_EQ(ReadFile(notes), "one");
  EXPECT_EQ(ReadFile(folder_ / "notes"), "ONE");
  EXPECT_EQ(Salient({"translate", "--format", "text", notes, File("notes", "two"), "--out", folder_ / "d"}).exit_status,
            0);
  EXPECT_EQ(ReadFile(folder_ / "d/notes.part"), "ONE");
  EXPECT_EQ(ReadFile(folder_ / "d/notes"), "TWO");
}

TEST_F(TranslateTest, AFolderIsNoFileOfAnOption) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"bench", folder_.path()}, {"translate", File("a", "a"), "--tls-ca", folder_.path()}}) {
    const ProcessResult result = Salient(arguments);
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr(folder_.path()), HasSubstr("is a folder")));
  }
}

TEST_F(TranslateTest, StandardOutputByItsNameKeepsWhatIsInIt) {
  const std::string command = "{ echo before; " SALIENT_PROGRAM " translate --quiet --server " + server_.address() +
                              " --out /dev/stdout " + File("a", "a\n") + "; echo after; } > " + folder_ / "out";
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", command}).exit_status, 0);
  EXPECT_EQ(ReadFile(folder_ / "out"), "before\nA\nafter\n");
}

TEST_F(TranslateTest, NamesDoNotCommandTheTerminal) {
  const ProcessResult result =
      Salient({"translate", File("a\033[31m\n", "a"), folder_ / "no\xC2\x9B", "--format", "text"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("/a?[31m? "), HasSubstr("/no\xC2?: cannot be read")));
  EXPECT_THAT(result.err, Not(HasSubstr("\033[31m")));
}

TEST_F(TranslateTest, ABenchSendsOnlyText) {
  const ProcessResult result = Salient({"bench", File("a", "PK\xff")});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr(folder_ / "a" + " is not UTF-8 at byte 2"));
  EXPECT_EQ(result.out, "");
}

TEST_F(TranslateTest, ABinaryDocumentWithoutOutIsRefusedBeforeItIsRead) {
  const ProcessResult result = Salient({"translate", "--format", "docx", folder_ / "none"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("name a file for it with --out"));
}

TEST_F(TranslateTest, AFileMayGoIntoANewFolder) {
  EXPECT_EQ(Salient({"translate", File("a", "a"), "--out", folder_ / "new/b"}).exit_status, 0);
  EXPECT_EQ(ReadFile(folder_ / "new/b"), "A");
}

TEST_F(TranslateTest, AListThatCannotBeWrittenIsAnError) {
  const std::string command = SALIENT_PROGRAM " models --server " + server_.address() + " > /dev/full";
  EXPECT_EQ(RunProgram({"/bin/sh", "-c", command}).exit_status, 1);
}

TEST_F(TranslateTest, TheSettingsOfABenchAreAddedToItsFlags) {
  const std::string settings = File("settings", R"({"search": {"beam": 2}})");
  const ProcessResult result = Salient({"bench", File("a", "a"), "--settings", settings, "--model", "none", "--rate",
                                        "9", "--seconds", "1", "--report", "json"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("not_found"), Not(HasSubstr("\"ok\"")))) << result.err;
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("no document was translated; the first failure was not_found: "));
}

TEST_F(TranslateTest, ABenchOfTooManyDocumentsIsRefused) {
  EXPECT_THAT(Salient({"bench", File("a", "a"), "--rate", "1000000", "--seconds", "1000000"}).err,
              HasSubstr("--rate and --seconds: 1000000000000 documents; at most 10000000 are sent"));
}

TEST_F(TranslateTest, TheServersErrorsAreShownAsTheyAre) {
  const ProcessResult result = Salient({"translate", "--selection", "ratio:2"}, "text");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(StartsWith("salient: standard input: "), HasSubstr("selection.value")));
  EXPECT_THAT(Salient({"translate", "--model", "none"}, "text").err, HasSubstr("this server has fake (en to de)"));
}

TEST_F(TranslateTest, Models) {
  const ProcessResult table = Salient({"models"});
  EXPECT_EQ(table.exit_status, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("fake"), HasSubstr("en > de"), HasSubstr("Writes in capitals.")));
  const auto json = nlohmann::json::parse(Salient({"models", "--report", "json"}).out);
  EXPECT_EQ(json["name"], "fake");
  EXPECT_EQ(json["parameters"], 12345678);
}

TEST(ConnectionTest, NoServerIsSaidWithTheRemedy) {
  const ProcessResult result = RunProgram({SALIENT_PROGRAM, "translate", "--server", "localhost:1"}, "text");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(
      result.err,
      "salient: cannot reach a server at localhost:1: start one with `salient-server --model DIR`, or name another "
      "with --server HOST:PORT, and with --tls if it speaks TLS\n");
}

TEST(ConnectionTest, NoServerWithTlsIsSaidWithTheRemedies) {
  const absl::Status status = Connect({.server = "localhost:1", .tls = true}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("cannot reach a server over TLS at localhost:1: a server must run there with TLS"),
                    HasSubstr("--tls-ca names"), HasSubstr("--tls-cert and --tls-key")));
}

TEST(ConnectionTest, AMessageFarTooLargeIsSaidWithTheRemedy) {
  const grpc::Status status(grpc::StatusCode::RESOURCE_EXHAUSTED, "Received message larger than max (12 vs. 9)");
  EXPECT_THAT(std::string(Explain(status, "localhost:1").message()),
              AllOf(StartsWith("too large for the server at localhost:1; send it in parts"),
                    HasSubstr("--max-document-bytes"), HasSubstr("(12 vs. 9)")));
}

TEST(ConnectionTest, AFileThatIsNoPemIsNamed) {
  const TempFolder folder;
  WriteFile(folder / "ca.der", "0\x82");
  const absl::Status status = Connect({.server = "localhost:1", .tls_ca = folder / "ca.der"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("--tls-ca: " + folder / "ca.der" + " is not in PEM format"));
}

TEST(ConnectionTest, ACertificateInPlaceOfAKeyAndTheOtherWayAreNamed) {
  const TempFolder folder;
  WriteFile(folder / "cert.pem", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n");
  WriteFile(folder / "key.pem", "-----BEGIN RSA PRIVATE KEY-----\nMA==\n-----END RSA PRIVATE KEY-----\n");
  const absl::Status ca = Connect({.server = "localhost:1", .tls_ca = folder / "key.pem"}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(ca)) << ca;
  EXPECT_THAT(std::string(ca.message()),
              AllOf(StartsWith("--tls-ca: " + folder / "key.pem"), HasSubstr("CERTIFICATE")));
  const absl::Status key =
      Connect({.server = "localhost:1", .tls_certificate = folder / "cert.pem", .tls_key = folder / "cert.pem"})
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(key)) << key;
  EXPECT_THAT(std::string(key.message()), AllOf(StartsWith("--tls-key: "), HasSubstr("PRIVATE KEY")));
}

TEST(ConnectionTest, AKeyThatNoHeaderCanHaveIsRefusedAndNotShown) {
  for (const char* key : {"secret\r", "schl\u00FCssel"}) {
    const absl::Status status = Connect({.server = "localhost:1", .api_key = key}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("SALIENT_API_KEY"), Not(HasSubstr("secret"))));
  }
}

// In this process, where the engine can be held.
class HeldTranslateTest : public ::testing::Test {
 protected:
  int Run(TestServer& server, TranslateFlags flags) {
    flags.connection.server = server.address();
    flags.files = {input_};
    WriteFile(input_, "one\ntwo");
    return RunTranslate(flags, out_, err_, /*err_is_terminal=*/false);
  }

  TempFolder folder_;
  const std::string input_ = folder_ / "input";
  std::ostringstream out_, err_;
};

TEST_F(HeldTranslateTest, AReplyThatLacksSegmentsIsNoSuccess) {
  TestServer server({.automatic = false});
  server.Start();
  int exit_status = 0;
  std::thread run([&] { exit_status = Run(server, {}); });
  server.engine().WaitForAdmitted(1);
  server.engine().Segment(0, 0);
  server.engine().Finish(0);  // without segment 1
  run.join();
  EXPECT_EQ(exit_status, 1);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), HasSubstr("incomplete"));
}

TEST_F(HeldTranslateTest, ATimeoutIsAnError) {
  TestServer server({.automatic = false});
  server.Start();
  TranslateFlags flags;
  flags.timeout_seconds = 0.2;
  EXPECT_EQ(Run(server, flags), 1);
  EXPECT_THAT(err_.str(), HasSubstr("not finished in time; allow more with --timeout"));
  server.engine().WaitForCancelled(1);
}

TEST_F(HeldTranslateTest, AFullQueueIsWaitedFor) {
  TestServer server({.automatic = false, .capacity = 1});
  server.Start();
  grpc::ClientContext context;
  auto other = server.stub().StreamTranslateDocument(&context, RequestFor("other"));
  server.engine().WaitForAdmitted(1);
  int exit_status = 1;
  std::thread run([&] { exit_status = Run(server, {}); });
  while (server.engine().refused() == 0) std::this_thread::yield();
  server.engine().Finish(0);
  server.engine().WaitForAdmitted(2);
  server.engine().Segment(1, 0);
  server.engine().Segment(1, 1);
  server.engine().Finish(1);
  run.join();
  EXPECT_EQ(exit_status, 0) << err_.str();
  EXPECT_EQ(out_.str(), "ONE\nTWO");
  v1::StreamTranslateDocumentResponse event;
  while (other->Read(&event)) {
  }
  EXPECT_TRUE(other->Finish().ok());
}

}  // namespace
}  // namespace salient
