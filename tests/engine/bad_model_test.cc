// Folders that are no models: refused, with the name of the file.

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/engine_fixture.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::salient::testing::TinyModel;
using ::testing::HasSubstr;

class BadModelTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::copy(TinyModel("base"), folder_); }

  absl::Status Open() const { return Engine::Create({.model_folder = folder_, .device = "reference"}).status(); }
  std::string Read(const std::string& file) const { return ReadFile(temp_ / file); }
  void Write(const std::string& file, const std::string& bytes) const { WriteFile(temp_ / file, bytes); }
  void Replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = Read(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    Write(file, text.replace(at, from.size(), to));
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
};

TEST_F(BadModelTest, TheCopyItselfIsGood) { EXPECT_TRUE(Open().ok()) << Open(); }

TEST_F(BadModelTest, MissingFolder) {
  const absl::Status status = Engine::Create({.model_folder = folder_ + "/none", .device = "reference"}).status();
  EXPECT_THAT(status.message(), HasSubstr("config.json"));
}

TEST_F(BadModelTest, TruncatedTensors) {
  const std::string whole = Read("model.safetensors");
  for (const size_t length : {size_t{0}, size_t{7}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    Write("model.safetensors", whole.substr(0, length));
    const absl::Status status = Open();
    EXPECT_FALSE(status.ok()) << length;
    EXPECT_THAT(status.message(), HasSubstr("model.safetensors")) << length;
  }
}

TEST_F(BadModelTest, AbsurdSizes) {
  Replace("config.json", "\"d_model\": 48", "\"d_model\": 4800000");
  EXPECT_THAT(Open().message(), HasSubstr("d_model"));
}

TEST_F(BadModelTest, SizesThatTheTensorsDoNotHave) {
  Replace("config.json", "\"d_model\": 48", "\"d_model\": 96");
  EXPECT_THAT(Open().message(), HasSubstr("embedding.weight"));
}

TEST_F(BadModelTest, AnotherShortlist) {
  Write("shortlist.safetensors", "not a shortlist");
  EXPECT_THAT(Open().message(), HasSubstr("shortlist.safetensors"));
  std::filesystem::remove(folder_ + "/shortlist.safetensors");
  EXPECT_TRUE(Open().ok()) << Open();
}

TEST_F(BadModelTest, AnotherTokenizer) {
  Write("tokenizer.model", "not a tokenizer");
  EXPECT_THAT(Open().message(), HasSubstr("tokenizer.model"));
}

TEST_F(BadModelTest, ListedPointsThatCannotBeOpenedAreNotMissing) {
  std::filesystem::remove(folder_ + "/operating_points.json");
  EXPECT_TRUE(Open().ok()) << Open();
  std::filesystem::create_symlink("operating_points.json", folder_ + "/operating_points.json");  // to itself
  EXPECT_THAT(Open().message(), HasSubstr("operating_points.json cannot be read: "));
}

// Who opens a pipe waits for its writer.
TEST_F(BadModelTest, APipeIsRefused) {
  for (const std::string file : {"config.json", "tokenizer.model", "operating_points.json"}) {
    const std::string bytes = std::filesystem::exists(folder_ + "/" + file) ? Read(file) : R"({"points": []})";
    std::filesystem::remove(folder_ + "/" + file);
    ASSERT_EQ(mkfifo((folder_ + "/" + file).c_str(), 0600), 0);
    EXPECT_THAT(Open().message(), HasSubstr(file + " is no regular file"));
    std::filesystem::remove(folder_ + "/" + file);
    Write(file, bytes);
  }
  ASSERT_EQ(mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  std::filesystem::remove(folder_ + "/README.md");
  std::filesystem::rename(folder_ + "/pipe", folder_ + "/README.md");
  EXPECT_TRUE(Open().ok()) << Open();
}

}  // namespace
}  // namespace salient
