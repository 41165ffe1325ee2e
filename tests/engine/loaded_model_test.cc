// What is opened anew is the model that was opened first.

#include "engine/loaded_model.h"

#include <chrono>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "engine/file_stamps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

class LoadedModelTest : public ::testing::Test {
 protected:
  LoadedModelTest() {
    std::filesystem::copy(std::string(SALIENT_TINY_MODELS) + "/base", folder_.path(),
                          std::filesystem::copy_options::recursive);
    options_ = {.model_folder = folder_.path(), .device = "cpu", .threads = 1, .kv_bytes = 64 << 20};
  }
  LoadedModel Open() {
    absl::StatusOr<LoadedModel> loaded = LoadedModel::Open(options_, [] {});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    return loaded.ok() ? *std::move(loaded) : LoadedModel();
  }
  // As if the same contents were written again, a second later.
  void Touch(const std::string& name) {
    const std::string path = folder_ / name;
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  }

  const TempFolder folder_;
  EngineOptions options_;
};

TEST_F(LoadedModelTest, OpensAnew) {
  LoadedModel loaded = Open();
  for (int times = 0; times < 2; ++times) {
    const absl::Status opened = loaded.Reopen(options_);
    EXPECT_TRUE(opened.ok()) << opened;
    EXPECT_NE(loaded.batch, nullptr);
  }
}

// What the model does not consist of may change.
TEST_F(LoadedModelTest, OpensAnewBesideOtherFiles) {
  LoadedModel loaded = Open();
  WriteFile(folder_ / "README.md", "# Another text");
  Touch("config.json");
  EXPECT_TRUE(loaded.Reopen(options_).ok());
}

TEST_F(LoadedModelTest, DoesNotOpenFilesThatWereReplaced) {
  for (const char* name : {"model.safetensors", "tokenizer.model"}) {
    LoadedModel loaded = Open();
    Touch(name);
    const absl::Status opened = loaded.Reopen(options_);
    EXPECT_EQ(opened.code(), absl::StatusCode::kFailedPrecondition) << opened;
    EXPECT_THAT(std::string(opened.message()), HasSubstr(std::string(name) + " is not as it was when the model was "
                                                                             "loaded: reload the model"));
    EXPECT_EQ(loaded.batch, nullptr);
  }
}

// They cannot even be read, which is no reason to look for another fault.
TEST_F(LoadedModelTest, SaysOfDamagedFilesThatTheyWereReplaced) {
  LoadedModel loaded = Open();
  WriteFile(folder_ / "model.safetensors", "half");
  EXPECT_EQ(loaded.Reopen(options_).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FileStampsTest, NameTheFileThatDiffers) {
  const TempFolder folder;
  const FileStamps none = StampsOf(folder.path());
  EXPECT_EQ(FirstChanged(none, none), "");
  for (const char* name : {"a-00001-of-00002.safetensors", "shortlist.safetensors", "model.safetensors.index.json",
                           "vocabulary.json", "source_vocabulary.json", "target_tokenizer.model"}) {
    const FileStamps before = StampsOf(folder.path());
    WriteFile(folder / name, "one");
    const FileStamps with = StampsOf(folder.path());
    EXPECT_EQ(FirstChanged(before, with), name);
    EXPECT_EQ(FirstChanged(with, before), name);
    WriteFile(folder / name, "longer");
    EXPECT_EQ(FirstChanged(with, StampsOf(folder.path())), name);
  }
  WriteFile(folder / "operating_points.json", "{}");
  EXPECT_EQ(StampsOf(folder.path()).size(), 6);
}

}  // namespace
}  // namespace salient
