// Shortlists: what a chunk's tokens are, and files that are wrong.

#include "engine/model/shortlist.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/safetensors_bytes.h"
#include "tests/model/small_config.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Ten tokens: 0 to 4 are special.
ModelConfig TenTokens() {
  ModelConfig config = SmallConfig();
  config.vocab_size = config.source_vocab_size = 10;
  return config;
}

// Of token n the row {n, 9 - n, pad}.
std::vector<uint16_t> Rows() {
  std::vector<uint16_t> rows;
  for (uint16_t n = 0; n < 10; ++n) rows.insert(rows.end(), {n, static_cast<uint16_t>(9 - n), 0});
  return rows;
}

std::string File(const std::vector<uint16_t>& rows = Rows(), const std::vector<uint16_t>& common = {8, 5}) {
  return SafetensorsBuilder()
      .Add("shortlist.tokens", "U16", {static_cast<int64_t>(rows.size()) / 3, 3}, RawBytes(rows))
      .Add("shortlist.common", "U16", {static_cast<int64_t>(common.size())}, RawBytes(common))
      .Build();
}

std::string Error(const std::string& bytes) {
  const auto parsed = Shortlist::Parse(bytes, TenTokens());
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << parsed.status();
  EXPECT_THAT(parsed.status().message(), HasSubstr("shortlist.safetensors"));
  return std::string(parsed.status().message());
}

TEST(ShortlistTest, UnitesRowsCommonTokensAndWhatSearchNeeds) {
  const auto shortlist = Shortlist::Parse(File(), TenTokens());
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  EXPECT_THAT((*shortlist)->TokensFor({}, {}), ElementsAre(3, 4, 5, 8));
  const std::vector<int32_t> source = {7, 6, 7, 3};
  EXPECT_THAT((*shortlist)->TokensFor(source, {}), ElementsAre(2, 3, 4, 5, 6, 7, 8));
  const std::vector<int32_t> prefix = {9, 1, 0};
  EXPECT_THAT((*shortlist)->TokensFor({}, prefix), ElementsAre(0, 1, 3, 4, 5, 8, 9));
}

TEST(ShortlistTest, MayBeEmpty) {
  const auto shortlist = Shortlist::Parse(
      SafetensorsBuilder().Add("shortlist.tokens", "U16", {10, 0}, "").Add("shortlist.common", "U16", {0}, "").Build(),
      TenTokens());
  ASSERT_TRUE(shortlist.ok()) << shortlist.status();
  const std::vector<int32_t> source = {7};
  EXPECT_THAT((*shortlist)->TokensFor(source, {}), ElementsAre(3, 4));
}

TEST(ShortlistTest, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(Error("no tensors"), HasSubstr("bytes"));
  EXPECT_THAT(Error(SafetensorsBuilder().Add("shortlist.tokens", "U16", {10, 0}, "").Build()),
              HasSubstr("shortlist.common is missing"));
  EXPECT_THAT(Error(SafetensorsBuilder().Add("shortlist.common", "U16", {0}, "").Build()),
              HasSubstr("shortlist.tokens is missing"));
  EXPECT_THAT(Error(File(std::vector<uint16_t>(27, 1))), HasSubstr("[9, 3]; it must have a row for each of the 10"));
  EXPECT_THAT(Error(File(std::vector<uint16_t>(30, 10))), HasSubstr("holds 10; tokens are 0 to 9"));
  EXPECT_THAT(Error(File(Rows(), std::vector<uint16_t>(11, 5))), HasSubstr("has 11 tokens; the vocabulary has 10"));
  EXPECT_THAT(Error(File(Rows(), {65535})), HasSubstr("shortlist.common holds 65535"));
  EXPECT_THAT(Error(SafetensorsBuilder()
                        .Add("shortlist.tokens", "U16", {10}, std::string(20, '\0'))
                        .Add("shortlist.common", "U16", {0}, "")
                        .Build()),
              HasSubstr("1 dimensions; it must have 2"));
  for (const float value : {-1.0f, 2.5f, 1e30f, std::nanf("")}) {
    EXPECT_THAT(Error(SafetensorsBuilder()
                          .Add("shortlist.tokens", "U16", {10, 0}, "")
                          .AddF32("shortlist.common", {1}, {value})
                          .Build()),
                HasSubstr("tokens are 0 to 9"));
  }
}

TEST(ShortlistTest, WhatItsModelHasTakenIsNotThereForIt) {
  const TempFolder folder;
  WriteFile(folder / Shortlist::kFile, File());
  constexpr int64_t kLeft = 100;
  int64_t memory = 1 << 20;
  ASSERT_TRUE(Shortlist::Load(folder.path(), TenTokens(), memory).ok());
  const int64_t taken = (1 << 20) - memory;
  EXPECT_GT(taken, kLeft) << "else a smaller number must be left below";
  memory = kLeft;
  EXPECT_EQ(Shortlist::Load(folder.path(), TenTokens(), memory).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(memory, kLeft);
}

TEST(ShortlistTest, AFolderMayHaveNone) {
  const TempFolder folder;
  const std::string file = folder / Shortlist::kFile;
  int64_t memory = 1 << 20;
  auto loaded = Shortlist::Load(folder.path(), TenTokens(), memory);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*loaded, nullptr);
  WriteFile(file, File());
  loaded = Shortlist::Load(folder.path(), TenTokens(), memory);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_NE(*loaded, nullptr);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_FALSE(Shortlist::Load(folder.path(), TenTokens(), memory).ok()) << "a folder is no file";
}

}  // namespace
}  // namespace salient
