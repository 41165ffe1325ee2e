#include "client/documents.h"

#include <string>

#include "engine/base/utf8.h"
#include "gmock/gmock.h"
#include "tests/client/process.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ReadDocumentTest, TheTextAsItIs) {
  const TempFolder folder;
  WriteFile(folder / "a", "Größe\r\n\n  x ");
  EXPECT_EQ(*ReadDocument(folder / "a"), "Größe\r\n\n  x ");
}

TEST(ReadDocumentTest, WhatCannotBeTranslated) {
  const TempFolder folder;
  EXPECT_THAT(Message(ReadDocument(folder / "none").status()), HasSubstr("No such file"));
  EXPECT_THAT(Message(ReadDocument(folder.path()).status()), HasSubstr("is a folder"));
  WriteFile(folder / "empty", "");
  EXPECT_THAT(Message(ReadDocument(folder / "empty").status()), HasSubstr("is empty"));
  WriteFile(folder / "latin1", "caf\xE9");
  EXPECT_THAT(Message(ReadDocument(folder / "latin1").status()), HasSubstr("not UTF-8 at byte 3"));
}

TEST(PlanOutputsTest, WhereTranslationsGo) {
  const TempFolder folder;
  EXPECT_THAT(*PlanOutputs({"a", "b"}, ""), ElementsAre("", ""));
  EXPECT_THAT(*PlanOutputs({"x/a.txt"}, folder / "b.txt"), ElementsAre(folder / "b.txt"));
  EXPECT_THAT(*PlanOutputs({"-"}, folder / "b.txt"), ElementsAre(folder / "b.txt"));
  EXPECT_THAT(*PlanOutputs({"x/a.txt"}, folder.path()), ElementsAre(folder / "a.txt"));
  EXPECT_THAT(*PlanOutputs({"x/a", "y/b"}, folder / "new/deep"),
              ElementsAre(folder / "new/deep/a", folder / "new/deep/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "new/deep"));
  EXPECT_THAT(*PlanOutputs({"x/a"}, folder / "slash/"), ElementsAre(folder / "slash/a"));
}

TEST(PlanOutputsTest, NothingIsOverwrittenUnasked) {
  const TempFolder folder;
  WriteFile(folder / "a", "text");
  EXPECT_THAT(Message(PlanOutputs({folder / "a"}, folder / "a").status()), HasSubstr("would be overwritten"));
  EXPECT_THAT(Message(PlanOutputs({folder / "a", "b"}, folder.path()).status()), HasSubstr("would be overwritten"));
  EXPECT_THAT(Message(PlanOutputs({"x/a", "y/a"}, folder / "out").status()), HasSubstr("would both go to"));
  EXPECT_THAT(Message(PlanOutputs({"a", "-"}, folder / "out").status()), HasSubstr("standard input has no name"));
}

TEST(WriteTranslationTest, AFileIsReplacedAsAWhole) {
  const TempFolder folder;
  WriteFile(folder / "a", "old and longer");
  ASSERT_TRUE(WriteTranslation(folder / "a", "new").ok());
  EXPECT_EQ(ReadFile(folder / "a"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.part"));
  EXPECT_THAT(Message(WriteTranslation(folder / "none/a", "text")), HasSubstr("cannot write"));
  EXPECT_TRUE(WriteTranslation("/dev/null", "text").ok());
}

TEST(FirstInvalidUtf8Test, TheEdgesOfTheRanges) {
  for (const char* valid : {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                            "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(FirstInvalidUtf8(valid), std::nullopt) << valid;
  }
  EXPECT_EQ(FirstInvalidUtf8(std::string_view("a\0b", 3)), std::nullopt);
  for (const char* invalid :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE1\x80",
        "\xE1\x80\x41", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xF1\x80\x80", "\xFF"}) {
    EXPECT_EQ(FirstInvalidUtf8("é" + std::string(invalid)), 2);
  }
}

}  // namespace
}  // namespace salient
