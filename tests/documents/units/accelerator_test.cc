#include "documents/units/accelerator.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

// The text without the accelerator's mark, and the key: "Open|O"; empty if there is none.
std::string Found(std::string_view text, std::optional<char> mark = std::nullopt) {
  const std::optional<Accelerator> found = FindAccelerator(text, mark);
  return found.has_value() ? found->text + "|" + found->key : "";
}

std::string Marked(std::string_view translation, std::string_view source) {
  const std::optional<Accelerator> found = FindAccelerator(source, std::nullopt);
  return found.has_value() ? WithAccelerator(translation, *found) : "none";
}

TEST(AcceleratorTest, IsFoundInLabels) {
  EXPECT_EQ(Found("&Open"), "Open|O");
  EXPECT_EQ(Found("Save _As..."), "Save As...|A");
  EXPECT_EQ(Found("E&xit"), "Exit|x");
  EXPECT_EQ(Found("Über &öffnen"), "Über öffnen|ö");
  EXPECT_EQ(Found("Cut && &paste"), "Cut && paste|p");
  EXPECT_EQ(Found("打开(&O)..."), "打开...|O");
}

TEST(AcceleratorTest, IsNotFoundInOtherText) {
  for (const char* text :
       {"", "Open", "R&D", "Salt & pepper", "Copy && paste", "&lt;b", "max_size", "__init__", "_File and _edit",
        "&File _edit", "Do not use _private names.", "See https://example.org/?a=b&c=d now", "%(a)s {_b}", "a _b\nc",
        "A sentence of more than sixty bytes is no label, whatever its &words have", "tail &", "tail _"}) {
    EXPECT_EQ(Found(text), "") << text;
  }
}

TEST(AcceleratorTest, ADeclaredMarkIsFoundInAllText) {
  EXPECT_EQ(Found("E_xit.", '_'), "Exit.|x");
  EXPECT_EQ(Found("~Open", '~'), "Open|O");
  EXPECT_EQ(Found("&Open", '~'), "");
  EXPECT_EQ(Found("&lt;", '&'), "");
}

TEST(AcceleratorTest, TheMarkGoesToTheSameKey) {
  EXPECT_EQ(Marked("Beenden und öffnen", "&Open"), "&Beenden und öffnen");  // no o
  EXPECT_EQ(Marked("Datei offen", "&Open"), "Datei &offen");
  EXPECT_EQ(Marked("Ofen", "&Open"), "&Ofen");
  EXPECT_EQ(Marked("Kopieren", "&Open"), "K&opieren");
  EXPECT_EQ(Marked("Ändern", "_Modify"), "_Ändern");
  EXPECT_EQ(Marked("<o>%(o)s &lt;o", "&Open"), "<o>%(o)s &lt;&o");
  EXPECT_EQ(Marked("%s: 1", "&Open"), "%s: 1");
  EXPECT_EQ(Marked("", "&Open"), "");
}

TEST(AcceleratorTest, AScriptWithoutTheKeyGetsItInParentheses) {
  EXPECT_EQ(Marked("打开", "&Open"), "打开(&O)");
  EXPECT_EQ(Marked("名前を付けて保存...", "Save _As..."), "名前を付けて保存(_A)...");
  EXPECT_EQ(Marked("열기:", "&Open:"), "열기(&O):");
  EXPECT_EQ(Marked("Открыть", "&Open"), "&Открыть");
  EXPECT_EQ(Marked("Open...", "打开(&O)..."), "&Open...");
}

}  // namespace
}  // namespace salient
