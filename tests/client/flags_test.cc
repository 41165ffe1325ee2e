#include "client/flags.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "client/controls.h"
#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

ParsedClientFlags Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "salient");
  return ParseClientFlags(static_cast<int>(arguments.size()), arguments.data());
}

// What a refused command line is answered with.
std::string Mistake(const std::vector<const char*>& arguments) {
  ::testing::internal::CaptureStderr();
  const ParsedClientFlags parsed = Parse(arguments);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(parsed.exit_code, 2) << ::testing::PrintToString(arguments);
  return said;
}

TEST(ClientFlagsTest, ControlsThatAreNotTypedStayUnset) {
  const ParsedClientFlags parsed = Parse({"translate", "a.txt"});
  ASSERT_TRUE(parsed.translate.has_value());
  const TranslateFlags& flags = *parsed.translate;
  EXPECT_THAT(flags.files, ElementsAre("a.txt"));
  EXPECT_EQ(flags.connection.server, "localhost:50051");
  EXPECT_FALSE(flags.request.has_selection());
  EXPECT_FALSE(flags.request.has_depth());
  EXPECT_FALSE(flags.request.search().has_beam());
  EXPECT_EQ(flags.request.setting_case(), v1::TranslateDocumentRequest::SETTING_NOT_SET);
  EXPECT_EQ(flags.request.document().segmentation(), v1::SEGMENTATION_UNSPECIFIED);
  EXPECT_EQ(flags.request.guard(), v1::GUARD_UNSPECIFIED);
  EXPECT_FALSE(flags.request.search().has_no_repeat());
  EXPECT_EQ(flags.report, ReportFormat::kTable);
}

TEST(ClientFlagsTest, TheGuardAndTheBoundOnRepetition) {
  const ParsedClientFlags parsed = Parse({"translate", "a", "--guard", "report", "--beam", "4", "--no-repeat", "5"});
  ASSERT_TRUE(parsed.translate.has_value());
  EXPECT_EQ(parsed.translate->request.guard(), v1::GUARD_REPORT);
  EXPECT_EQ(parsed.translate->request.search().no_repeat(), 5);
  const ParsedClientFlags bench = Parse({"bench", "a", "--guard", "off"});
  ASSERT_TRUE(bench.bench.has_value());
  EXPECT_EQ(bench.bench->request.guard(), v1::GUARD_OFF);
  EXPECT_THAT(Mistake({"translate", "a", "--guard", "perhaps"}), HasSubstr("--guard"));
}

TEST(ClientFlagsTest, BenchChoosesAModelAsTranslateDoes) {
  for (const char* command : {"translate", "bench"}) {
    const ParsedClientFlags parsed = Parse({command, "a", "--from", "en", "--to", "de", "--model", "m"});
    ASSERT_FALSE(parsed.exit_code.has_value()) << command;
    const v1::TranslateDocumentRequest& request =
        parsed.bench.has_value() ? parsed.bench->request : parsed.translate->request;
    EXPECT_EQ(request.source_language(), "en");
    EXPECT_EQ(request.target_language(), "de");
    EXPECT_EQ(request.model(), "m");
  }
}

TEST(ClientFlagsTest, FilesOfTranslationsAreSentWithTheirType) {
  const TempFolder folder;
  const std::string path = folder / "memory.tsv";
  WriteFile(path, "Yes\tJa\n");
  const ParsedClientFlags parsed = Parse({"translate", "a", "--memory-file", path.c_str()});
  ASSERT_TRUE(parsed.translate.has_value());
  const v1::Memory& memory = parsed.translate->request.memory();
  ASSERT_EQ(memory.files_size(), 1);
  EXPECT_EQ(memory.files(0).content(), "Yes\tJa\n");
  EXPECT_EQ(memory.files(0).mime_type(), "text/tab-separated-values");
  EXPECT_FALSE(memory.server());
  EXPECT_THAT(Mistake({"translate", "a", "--memory-file", "a.csv"}),
              HasSubstr("--memory-file: a.csv is none of .tmx, .po and .tsv"));
  EXPECT_THAT(Mistake({"translate", "a", "--memory-file", "/none.tmx"}), HasSubstr("/none.tmx cannot be read"));
}

TEST(ClientFlagsTest, AFileOfTermsIsSent) {
  const TempFolder folder;
  const std::string path = folder / "terms.tsv";
  WriteFile(path, "server\tDienstrechner\ti\n");
  const ParsedClientFlags parsed = Parse({"translate", "a", "--glossary-file", path.c_str(), "--term", "a=b"});
  ASSERT_TRUE(parsed.translate.has_value());
  const v1::Glossary& glossary = parsed.translate->request.glossary();
  EXPECT_EQ(glossary.content(), "server\tDienstrechner\ti\n");
  EXPECT_EQ(glossary.terms_size(), 1);
  EXPECT_THAT(Mistake({"translate", "a", "--glossary-file", "/none.tsv"}),
              HasSubstr("--glossary-file: /none.tsv cannot be read"));
}

TEST(ClientFlagsTest, EveryOption) {
  const ParsedClientFlags parsed = Parse({"translate",
                                          "a",
                                          "b",
                                          "--server",
                                          "h:1",
                                          "--from",
                                          "en",
                                          "--to",
                                          "de",
                                          "--model",
                                          "m",
                                          "--selection",
                                          "ratio:0.05",
                                          "--min-keys",
                                          "4",
                                          "--exit",
                                          "geometric:0.4",
                                          "--min-exit",
                                          "2",
                                          "--max-exit",
                                          "5",
                                          "--beam",
                                          "4",
                                          "--length-penalty",
                                          "0.6",
                                          "--max-length-ratio",
                                          "2",
                                          "--n-best",
                                          "3",
                                          "--prefix",
                                          "Der",
                                          "--lines",
                                          "--shortlist",
                                          "--out",
                                          "dir/",
                                          "--report",
                                          "json",
                                          "--timeout",
                                          "9",
                                          "--parallel",
                                          "2",
                                          "--trace",
                                          "--quiet"});
  ASSERT_TRUE(parsed.translate.has_value());
  const TranslateFlags& flags = *parsed.translate;
  const v1::TranslateDocumentRequest& request = flags.request;
  EXPECT_THAT(flags.files, ElementsAre("a", "b"));
  EXPECT_EQ(flags.connection.server, "h:1");
  EXPECT_EQ(request.source_language(), "en");
  EXPECT_EQ(request.target_language(), "de");
  EXPECT_EQ(request.model(), "m");
  EXPECT_EQ(request.selection().policy(), v1::SelectionControls::RATIO);
  EXPECT_EQ(request.selection().min_keys(), 4);
  EXPECT_EQ(request.depth().policy(), v1::DepthControls::GEOMETRIC);
  EXPECT_EQ(request.depth().min_exit(), 2);
  EXPECT_EQ(request.depth().max_exit(), 5);
  EXPECT_EQ(request.search().beam(), 4);
  EXPECT_EQ(request.search().length_penalty(), 0.6);
  EXPECT_EQ(request.search().max_length_ratio(), 2);
  EXPECT_EQ(request.search().n_best(), 3);
  EXPECT_EQ(request.search().prefix(), "Der");
  EXPECT_TRUE(request.search().shortlist());
  EXPECT_EQ(request.document().segmentation(), v1::SEGMENTATION_LINES);
  EXPECT_TRUE(request.trace());
  EXPECT_EQ(flags.out, "dir/");
  EXPECT_EQ(flags.report, ReportFormat::kJson);
  EXPECT_EQ(flags.timeout_seconds, 9);
  EXPECT_EQ(flags.parallel, 2);
  EXPECT_TRUE(flags.quiet);
}

TEST(ClientFlagsTest, Settings) {
  EXPECT_EQ(Parse({"translate", "--operating-point", "fast"}).translate->request.operating_point(), "fast");
  EXPECT_EQ(Parse({"translate", "--latency", "2.5"}).translate->request.latency_target_seconds(), 2.5);
  EXPECT_THAT(Mistake({"translate", "--operating-point", "fast", "--latency", "1"}), HasSubstr("excludes"));
}

TEST(ClientFlagsTest, Tune) {
  const ParsedClientFlags parsed =
      Parse({"tune",     "a.txt",       "b",    "--to",       "de",   "--format", "text", "--reference",
             "a.de.txt", "--reference", "b.de", "--settings", "s",    "--rounds", "5",    "--tolerance",
             "0.25",     "--timeout",   "9",    "--report",   "json", "-q"});
  ASSERT_TRUE(parsed.tune.has_value());
  const TuneFlags& flags = *parsed.tune;
  EXPECT_THAT(flags.files, ElementsAre("a.txt", "b"));
  EXPECT_EQ(flags.request.target_language(), "de");
  EXPECT_EQ(flags.format->name, "text");
  EXPECT_THAT(flags.references, ElementsAre("a.de.txt", "b.de"));
  EXPECT_EQ(flags.settings, "s");
  EXPECT_EQ(flags.rounds, 5);
  EXPECT_EQ(flags.tolerance, 0.25);
  EXPECT_EQ(flags.timeout_seconds, 9);
  EXPECT_EQ(flags.report, ReportFormat::kJson);
  EXPECT_TRUE(flags.quiet);
  EXPECT_THAT(Parse({"tune", "--reference", "r", "a.txt"}).tune->files, ElementsAre("a.txt"));
  EXPECT_THAT(Mistake({"tune"}), HasSubstr("FILE"));
  EXPECT_THAT(Mistake({"tune", "a", "--rounds", "0"}), HasSubstr("--rounds"));
  EXPECT_THAT(Mistake({"tune", "a", "--tolerance", "nan"}), HasSubstr("--tolerance"));
  EXPECT_THAT(Mistake({"tune", "a", "--selection", "dense"}), HasSubstr("--selection"));
}

TEST(ClientFlagsTest, ARequestIsToldAsItWasTyped) {
  const std::vector<const char*> flags = {"--model",
                                          "m",
                                          "--from",
                                          "en",
                                          "--to",
                                          "de",
                                          "--selection",
                                          "ratio:0.1",
                                          "--min-keys",
                                          "4",
                                          "--exit",
                                          "fixed:2",
                                          "--min-exit",
                                          "1",
                                          "--max-exit",
                                          "2",
                                          "--beam",
                                          "4",
                                          "--length-penalty",
                                          "0.6",
                                          "--max-length-ratio",
                                          "2",
                                          "--n-best",
                                          "2",
                                          "--no-repeat",
                                          "3",
                                          "--prefix",
                                          "Der",
                                          "--shortlist",
                                          "--guard",
                                          "retry"};
  std::vector<const char*> command = {"translate", "a", "--report", "json"};
  command.insert(command.end(), flags.begin(), flags.end());
  EXPECT_EQ(FlagsOf(Parse(command).translate->request), absl::StrJoin(flags, " "));
  EXPECT_EQ(FlagsOf(Parse({"bench", "a", "--operating-point", "fast"}).bench->request), "--operating-point fast");
  EXPECT_EQ(FlagsOf(Parse({"bench", "a", "--latency", "2.5"}).bench->request), "--latency 2.5");
}

TEST(ClientFlagsTest, NoFileIsStandardInput) { EXPECT_THAT(Parse({"translate"}).translate->files, ElementsAre("-")); }

TEST(ClientFlagsTest, AFileMayHaveAnyName) {
  const std::vector<const char*> names = {"[draft]", "a.txt", "[a,b]", "a,b", "[]"};
  std::vector<const char*> translate = {"translate"}, bench = {"bench", "--rate", "2"};
  translate.insert(translate.end(), names.begin(), names.end());
  bench.insert(bench.end(), names.begin(), names.end());
  EXPECT_THAT(Parse(translate).translate->files, ElementsAreArray(names));
  EXPECT_THAT(Parse(bench).bench->files, ElementsAreArray(names));
}

TEST(ClientFlagsTest, ARepeatableOptionLeavesTheFilesAlone) {
  const ParsedClientFlags parsed = Parse({"translate", "--keep", "Salient", "--keep", "[Go]", "--term", "a=b", "a.md"});
  ASSERT_TRUE(parsed.translate.has_value());
  EXPECT_THAT(parsed.translate->files, ElementsAre("a.md"));
  EXPECT_THAT(parsed.translate->request.document().keep_terms(), ElementsAre("Salient", "[Go]"));
  EXPECT_EQ(parsed.translate->request.glossary().terms_size(), 1);
}

TEST(ClientFlagsTest, NegativeNumbersReachTheServer) {
  EXPECT_EQ(Parse({"translate", "--beam", "-1"}).translate->request.search().beam(), -1);
}

TEST(ClientFlagsTest, NumbersOutOfRangeAreRefused) {
  for (const char* flag : {"--rate", "--end-rate", "--seconds", "--timeout", "--in-flight", "--seed"}) {
    for (const char* value : {"nan", "-nan", "inf", "1e400", "-1", "1x"}) {
      EXPECT_THAT(Mistake({"bench", "a.txt", flag, value}), AllOf(HasSubstr(flag), HasSubstr(value)));
    }
  }
  EXPECT_THAT(Mistake({"bench", "a.txt", "--rate", "nan"}),
              HasSubstr("--rate: 'nan' is not a number from 0.001 to 1e+06"));
  EXPECT_THAT(Mistake({"bench", "a.txt", "--seed", "18446744073709551616"}), HasSubstr("--seed"));
  EXPECT_THAT(Mistake({"translate", "a.txt", "--timeout", "nan"}), HasSubstr("--timeout: 'nan'"));
  EXPECT_EQ(Parse({"bench", "a.txt", "--seed", "18446744073709551615"}).bench->seed, UINT64_MAX);
}

TEST(ClientFlagsTest, TheEnvironment) {
  setenv("SALIENT_SERVER", "elsewhere:1", 1);
  setenv("SALIENT_EXIT", "fixed:2", 1);
  EXPECT_EQ(Parse({"translate"}).translate->connection.server, "elsewhere:1");
  EXPECT_EQ(Parse({"models"}).models->connection.server, "elsewhere:1");
  EXPECT_EQ(Parse({"translate"}).translate->request.depth().fixed_exit(), 2);
  EXPECT_EQ(Parse({"translate", "--server", "here:2"}).translate->connection.server, "here:2");
  unsetenv("SALIENT_SERVER");
  unsetenv("SALIENT_EXIT");
}

TEST(ClientFlagsTest, AFileMayServeAllCommands) {
  const TempFolder folder;
  const std::string path = folder / "salient.toml";
  WriteFile(path, "server = \"h:1\"\nselection = \"dense\"\nrate = 2\nrounds = 5\nquiet = true\n");
  const ParsedClientFlags translate = Parse({"translate", "a", "--config", path.c_str()});
  ASSERT_TRUE(translate.translate.has_value());
  EXPECT_EQ(translate.translate->request.selection().policy(), v1::SelectionControls::DENSE);
  EXPECT_EQ(Parse({"models", "--config", path.c_str()}).models->connection.server, "h:1");
  EXPECT_EQ(Parse({"bench", "a", "--config", path.c_str()}).bench->rate, 2);
  EXPECT_EQ(Parse({"tune", "a", "--config", path.c_str()}).tune->rounds, 5);
}

TEST(ClientFlagsTest, AKeyThatNoCommandHasIsRefused) {
  const TempFolder folder;
  const std::string path = folder / "salient.toml";
  for (const char* command : {"translate", "models", "bench", "tune"}) {
    WriteFile(path, "selction = \"dense\"\n");
    EXPECT_THAT(
        Mistake({command, "a", "--config", path.c_str()}),
        AllOf(HasSubstr("--config: there is no option 'selction'; is 'selection' meant?"), HasSubstr("--help")));
    WriteFile(path, "something = 1\n");
    EXPECT_THAT(Mistake({command, "a", "--config", path.c_str()}),
                AllOf(HasSubstr("there is no option 'something'"), Not(HasSubstr("meant"))));
    WriteFile(path, "[translate]\nselection = \"dense\"\n");
    EXPECT_THAT(Mistake({command, "a", "--config", path.c_str()}), HasSubstr("'translate' is a section"));
  }
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"translate", "--config", path.c_str(), "--help"}).exit_code, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(), HasSubstr("--selection"));
}

TEST(ClientFlagsTest, AVariableThatIsLikeAnOptionsIsToldOf) {
  const auto said = [](const std::vector<const char*>& arguments) {
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(Parse(arguments).exit_code.has_value());
    return ::testing::internal::GetCapturedStderr();
  };
  const std::vector<const char*> others = {"SALIENT_SERVER_MODEL", "SALIENT_CPU_ISA",      "SALIENT_BIN",
                                           "SALIENT_PORT",         "SALIENT_SERVICE_HOST", "SALIENT_IMAGE"};
  for (const char* name : others) setenv(name, "1", 1);
  setenv("SALIENT_ROUNDS", "3", 1);
  EXPECT_EQ(said({"translate"}), "") << "tune has the option";
  setenv("SALIENT_EXITT", "1", 1);
  for (const char* command : {"translate", "models"}) {
    EXPECT_EQ(said({command}),
              "salient: ignored the variable SALIENT_EXITT, which is no option; is SALIENT_EXIT meant?\n");
  }
  EXPECT_EQ(said({"translate", "--quiet"}), "");
  for (const char* name : others) unsetenv(name);
  unsetenv("SALIENT_ROUNDS");
  unsetenv("SALIENT_EXITT");
}

TEST(ClientFlagsTest, Mistakes) {
  EXPECT_THAT(Mistake({"translate", "--selection", "sparse"}),
              HasSubstr("--selection: 'sparse' is not right; it takes dense, learned"));
  EXPECT_THAT(Mistake({"translate", "--exit", "fixed"}), HasSubstr("fixed:3"));
  EXPECT_THAT(Mistake({"translate", "--format", "wordstar"}),
              HasSubstr("format is \"wordstar\"; known are text, markdown"));
  EXPECT_THAT(Mistake({"translate", "--n-best", "2"}), HasSubstr("--report json"));
  EXPECT_THAT(Mistake({"translate", "--trace"}), HasSubstr("--report json"));
  EXPECT_THAT(Mistake({"translate", "--no-such"}), HasSubstr("--help"));
  EXPECT_THAT(Mistake({"translte"}), AllOf(HasSubstr("no command 'translte'"), HasSubstr("salient translate FILE")));
  EXPECT_THAT(Mistake({}), HasSubstr("salient translate FILE"));
}

TEST(ClientFlagsTest, Help) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("translate"), HasSubstr("models"), HasSubstr("tune"), HasSubstr("bench")));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"translate", "--help"}).exit_code, 0);
  EXPECT_THAT(::testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("--selection"), HasSubstr("ratio:0.05,0.1,0.2"), HasSubstr("--exit"),
                    HasSubstr("--operating-point"), HasSubstr("--report")));
}

}  // namespace
}  // namespace salient
