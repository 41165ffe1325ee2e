// Both programs as they are delivered, with the real engine and a tiny model of random weights.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/process.h"

namespace salient {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDocument[] =
    "The old house stands at the river. She opened the window.\n\nThree birds sat on the roof. The water was cold.\n";

class EndToEndTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::exists(std::string(SALIENT_TINY_MODELS) + "/base/config.json"));
    server_ = std::make_unique<Process>(std::vector<std::string>{
        SALIENT_SERVER_PROGRAM, "--model", std::string(SALIENT_TINY_MODELS) + "/base", "--listen", "127.0.0.1:0",
        "--http", "127.0.0.1:0", "--admin", "off", "--threads", "1", "--guard", "off", "--ready-file",
        folder_ / "ready"});  // the guard would translate again what a random model writes
    ASSERT_TRUE(server_->WaitForFile(folder_ / "ready")) << server_->err();
    address_ = nlohmann::json::parse(ReadFile(folder_ / "ready"))["grpc"];
  }

  ProcessResult Translate(const std::string& text, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SALIENT_PROGRAM, "translate", "--server", address_, "--report", "json"});
    return RunProgram(arguments, text);
  }

  nlohmann::json Report(const std::string& text, const std::vector<std::string>& arguments) {
    const ProcessResult result = Translate(text, arguments);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return nlohmann::json::parse(result.out);
  }

  TempFolder folder_;
  std::unique_ptr<Process> server_;
  std::string address_;
};

TEST_F(EndToEndTest, ThreeWaysToTranslateADocument) {
  const nlohmann::json dense = Report(kDocument, {"--selection", "dense", "--exit", "full"});
  EXPECT_EQ(dense["segments_in"], 4);
  EXPECT_EQ(dense["segments_out"], 4);
  EXPECT_EQ(dense["attention_cost_ratio"], 1);
  EXPECT_EQ(dense["mean_exit"], dense["exit_histogram"].size());

  const nlohmann::json sparse = Report(kDocument, {"--selection", "ratio:0.1", "--min-keys", "1"});
  EXPECT_LT(sparse["keys_selected_ratio"]["cross"], 0.5);
  EXPECT_LT(sparse["attention_cost_ratio"], 1);

  const nlohmann::json early = Report(kDocument, {"--selection", "ratio:0.1", "--exit", "fixed:1"});
  EXPECT_EQ(early["mean_exit"], 1);
  EXPECT_LT(early["decoder_flops"], early["decoder_flops_full_depth"]);
  EXPECT_EQ(early["exit_histogram"][0], early["target_tokens"]);
}

TEST_F(EndToEndTest, VerifiedDraftsGiveWhatFullDepthGives) {
  const nlohmann::json full = Report(kDocument, {"--exit", "full"});
  const nlohmann::json verified = Report(kDocument, {"--exit", "verify:1,3"});
  EXPECT_EQ(verified["text"], full["text"]);
  EXPECT_EQ(verified["exit_histogram"], full["exit_histogram"]);
  EXPECT_EQ(full["draft_acceptance"], 0);
  EXPECT_GE(verified["draft_acceptance"], 0);
  EXPECT_LE(verified["draft_acceptance"], 1);
  const ProcessResult beam = Translate(kDocument, {"--exit", "verify:1", "--beam", "4"});
  EXPECT_EQ(beam.exit_status, 1);
  EXPECT_THAT(beam.err + beam.out, HasSubstr("search.beam is 4"));
}

TEST_F(EndToEndTest, ManyDocumentsAtOnceGiveWhatEachGivesAlone) {
  std::vector<std::string> arguments = {"--selection", "ratio:0.3", "--exit", "geometric:0.4"};
  std::vector<std::string> alone, files;
  for (int i = 0; i < 12; ++i) {
    std::string text;
    for (int k = 0; k <= i; ++k) text += "The old house number " + std::to_string(i * k) + " stands at the river.\n";
    alone.push_back(Report(text, arguments)["text"]);
    files.push_back(folder_ / std::to_string(i));
    WriteFile(files.back(), text);
  }
  std::vector<std::string> all = files;
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--parallel", "12", "--out", folder_ / "out"});
  ASSERT_EQ(Translate("", all).exit_status, 0);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(ReadFile(folder_ / ("out/" + std::to_string(i))), alone[i]);
}

TEST_F(EndToEndTest, WhatIsKnownOrRepeatedIsPartOfTheDocument) {
  const std::string memory = folder_ / "memory.tsv";
  WriteFile(memory, "The water was cold.\tKalt war es.\n");
  const std::string line = "Three birds sat on the roof.\n";
  for (const std::string& text :
       {absl::StrCat(line, line, "The water was cold.\n", line, "She opened the window.\n", line),
        std::string("The water was cold.\nThe water was cold.\n")}) {
    const nlohmann::json report = Report(text, {"--repeats", "--memory-file", memory});
    EXPECT_EQ(report["segments_in"], std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(report["segments_out"], report["segments_in"]);
    EXPECT_THAT(report["text"].get<std::string>(), HasSubstr("Kalt war es.\n"));
  }
}

TEST_F(EndToEndTest, ErrorsNameTheField) {
  EXPECT_THAT(Translate(kDocument, {"--selection", "ratio:2"}).err, HasSubstr("selection.value"));
  EXPECT_THAT(Translate(kDocument, {"--beam", "-1"}).err, HasSubstr("search.beam"));
  EXPECT_THAT(Translate(kDocument, {"--exit", "fixed:9"}).err, HasSubstr("depth.fixed_exit"));
  EXPECT_THAT(Translate(kDocument, {"--operating-point", "fast"}).err, HasSubstr("operating_point"));
  EXPECT_THAT(Translate(std::string(5 << 20, 'a'), {}).err, HasSubstr("document.text: 5242880 bytes"));
}

TEST_F(EndToEndTest, SigtermDrains) {
  server_->Signal(SIGTERM);
  const ProcessResult result = server_->Wait();
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.err, HasSubstr("0 documents in flight"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "ready"));
}

TEST(ServerProgramTest, AnInstructionSetThatIsNotUsedIsSaid) {
  setenv("SALIENT_CPU_ISA", "avx-512", 1);
  const ProcessResult other = RunProgram({SALIENT_SERVER_PROGRAM, "--models-dir", "nowhere", "--listen", "127.0.0.1:0",
                                          "--http", "off", "--admin", "off"});
  setenv("SALIENT_CPU_ISA", "scalar", 1);
  const ProcessResult scalar = RunProgram({SALIENT_SERVER_PROGRAM, "--models-dir", "nowhere", "--listen", "127.0.0.1:0",
                                           "--http", "off", "--admin", "off"});
  unsetenv("SALIENT_CPU_ISA");
  EXPECT_THAT(other.err, HasSubstr("warning SALIENT_CPU_ISA is \"avx-512\""));
  EXPECT_THAT(scalar.err, Not(HasSubstr("SALIENT_CPU_ISA")));
}

TEST(ServerProgramTest, AFolderThatIsNoModelIsSaid) {
  const TempFolder folder;
  const ProcessResult result = RunProgram(
      {SALIENT_SERVER_PROGRAM, "--model", folder.path(), "--listen", "127.0.0.1:0", "--http", "off", "--admin", "off"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr(folder.path()));
  EXPECT_THAT(result.err, HasSubstr("config.json"));
}

}  // namespace
}  // namespace salient
