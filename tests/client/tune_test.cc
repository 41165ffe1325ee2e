// `salient tune` against a server whose engine is the test's.

#include "client/tune.h"

#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class TuneTest : public ::testing::Test {
 protected:
  TuneTest() {
    server_.Start();
    flags_.connection.server = server_.address();
    flags_.files = {File("a.txt", "one\ntwo\n")};
    flags_.report = ReportFormat::kJson;
    flags_.rounds = 2;
  }

  std::string File(const std::string& name, const std::string& text) {
    WriteFile(folder_ / name, text);
    return folder_ / name;
  }

  int Run() { return RunTune(flags_, out_, err_); }

  std::vector<nlohmann::json> Rows() {
    std::vector<nlohmann::json> rows;
    std::istringstream lines(out_.str());
    for (std::string line; std::getline(lines, line);) rows.push_back(nlohmann::json::parse(line));
    return rows;
  }

  // The row of a setting.
  nlohmann::json Row(const std::string& flags) {
    for (const nlohmann::json& row : Rows()) {
      if (row["setting"] == flags) return row;
    }
    ADD_FAILURE() << flags << " is not in " << out_.str();
    return {};
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const nlohmann::json& row : Rows()) names.push_back(row["setting"]);
    return names;
  }

  TempFolder folder_;
  TestServer server_;
  TuneFlags flags_;
  std::ostringstream out_, err_;
};

TEST_F(TuneTest, SettingsAreThoseOfTheModel) {
  EXPECT_EQ(Run(), 0) << err_.str();
  // All take nearly the same time.
  EXPECT_THAT(Names(),
              UnorderedElementsAre("--selection dense --exit full", "--selection learned --exit full",
                                   "--selection dense --exit fixed:3", "--selection learned --exit fixed:3",
                                   "--selection learned --exit geometric", "--selection learned --exit confidence",
                                   "--selection learned --exit geometric --shortlist",
                                   "--selection dense --exit full --beam 4"));
  const nlohmann::json baseline = Row("--selection dense --exit full");
  EXPECT_GE(baseline["seconds"], 0.25);  // the server adds its own part
  EXPECT_DOUBLE_EQ(baseline["seconds_per_1000_tokens"], baseline["seconds"].get<double>() * 1000 / 8);
  EXPECT_EQ(baseline["times_as_fast"], 1);
  EXPECT_DOUBLE_EQ(baseline["attention_cost_ratio"], 0.07);
  EXPECT_EQ(baseline["mean_exit"], 2);
  EXPECT_EQ(baseline["chrf"], 100);
  EXPECT_EQ(baseline["chrf_against"], "baseline");
  EXPECT_EQ(baseline["baseline"], true);
  EXPECT_EQ(Rows()[0]["recommended"], true);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("warm-up, setting 1 of 8: "), HasSubstr("round 2 of 2, setting 8 of 8: ")));
}

TEST_F(TuneTest, EachRoundBeginsWithAnotherSetting) {
  flags_.settings = File("s", "{\"search\": {\"beam\": 2}}\n{\"search\": {\"beam\": 3}}\n");
  flags_.files.push_back(File("b.txt", "three"));
  flags_.rounds = 3;
  EXPECT_EQ(Run(), 0) << err_.str();
  std::vector<int> beams;
  for (int i = 0; i < server_.engine().admitted(); ++i) {
    beams.push_back(server_.engine().request(i).options.search.beam.value_or(1));
  }
  EXPECT_THAT(beams, ElementsAre(2, 3, /*round 1*/ 3, 3, 2, 2, /*round 2*/ 2, 2, 3, 3, /*round 3*/ 3, 3, 2, 2));
  EXPECT_GE(Row("--beam 2")["seconds"], 0.5);
}

TEST_F(TuneTest, TheFirstSettingOfAFileIsTheBaseline) {
  flags_.settings = File("s", "{\"search\": {\"prefix\": \"abc\"}}\n{}\n");
  EXPECT_EQ(Run(), 0) << err_.str();
  EXPECT_EQ(Row("--prefix abc")["chrf"], 100);
  EXPECT_EQ(Row("--prefix abc")["baseline"], true);
  EXPECT_EQ(Row("no flags")["baseline"], false);
  EXPECT_LT(Row("no flags")["chrf"], 100);
}

TEST_F(TuneTest, References) {
  flags_.settings = File("s", "{\"search\": {\"prefix\": \"abc\"}}\n{}\n");
  flags_.references = {File("a.de.txt", "ONE TWO")};
  EXPECT_EQ(Run(), 0) << err_.str();
  EXPECT_LT(Row("--prefix abc")["chrf"], 100);
  EXPECT_EQ(Row("no flags")["chrf"], 100);
  EXPECT_EQ(Row("no flags")["chrf_against"], "references");
  EXPECT_EQ(Row("no flags")["recommended"], true);
}

TEST_F(TuneTest, ReferencesThatDoNotFitAreRefusedWithTheRemedy) {
  flags_.references = {File("a.de.txt", "EINS"), File("b.de.txt", "ZWEI")};
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("--reference: references: 2, documents: 1; give one for each document"));
  flags_.files = {File("a.md", "one")};
  flags_.references.pop_back();
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("a.md is not plain text; store its text"));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(TuneTest, DocumentsInOtherFormats) {
  flags_.files = {File("page.html", "<p>One <b>bold</b> word</p>")};
  EXPECT_EQ(Run(), 0) << err_.str();
  EXPECT_EQ(Rows().size(), 8);
  EXPECT_EQ(Rows()[7]["chrf"], 100);
}

TEST_F(TuneTest, ASettingThatTheServerRefusesIsLeftOut) {
  flags_.settings = File("s", "{}\n{\"search\": {\"beam\": 99}}\n{\"search\": {\"beam\": 2}}\n");
  flags_.quiet = true;
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(Names(), UnorderedElementsAre("no flags", "--beam 2"));
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("salient: left out: --beam 99: "), HasSubstr("search.beam"), Not(HasSubstr("warm-up"))));
}

TEST_F(TuneTest, ABaselineThatTheServerRefusesIsAnError) {
  flags_.settings = File("s", "{\"search\": {\"beam\": 99}}\n{}\n");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("salient: --beam 99: "), HasSubstr("search.beam")));
  flags_.settings.clear();
  flags_.request.set_model("none");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("this server has fake (en to de)"));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(TuneTest, FilesThatCannotBeReadAreNamed) {
  flags_.settings = File("s", "\n");
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("/s has no settings"));
  flags_.files = {folder_ / "none"};
  EXPECT_EQ(Run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("/none: cannot be read"));
}

TEST_F(TuneTest, ATableWithTheRecommendation) {
  flags_.report = ReportFormat::kTable;
  flags_.settings = File("s", "{\"depth\": {\"policy\": \"GEOMETRIC\"}}");
  EXPECT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("* --exit geometric "), HasSubstr("not which is better.\n"),
                                HasSubstr("is the baseline: --exit geometric\n")));
}

}  // namespace
}  // namespace salient
