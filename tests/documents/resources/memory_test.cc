#include "documents/resources/memory.h"

#include "documents/formats/memory_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

TranslationMemory Load(std::string_view bytes, std::string_view mime_type) {
  auto memory = TranslationMemory::Load(bytes, mime_type, "en", "de-DE");
  EXPECT_TRUE(memory.ok()) << memory.status();
  return memory.ok() ? *std::move(memory) : TranslationMemory();
}

std::string Found(const TranslationMemory& memory, std::string_view source) {
  const std::string* translation = memory.Find(source);
  return translation == nullptr ? "(none)" : *translation;
}

TEST(TranslationMemoryTest, Tsv) {
  const TranslationMemory memory = Load("Good  morning.\tGuten Morgen.\r\n\nYes\tJa\nYes\tDoch\tnote\n", kTsvMimeType);
  EXPECT_EQ(memory.size(), 2u);
  EXPECT_EQ(Found(memory, " Good morning. "), "Guten Morgen.");
  EXPECT_EQ(Found(memory, "Yes"), "Doch");
  EXPECT_EQ(Found(memory, "yes"), "(none)");
  EXPECT_THAT(std::string(TranslationMemory::Load("a b\n", kTsvMimeType, "en", "de").status().message()),
              HasSubstr("line 1 has no tab"));
}

TEST(TranslationMemoryTest, Tmx) {
  const TranslationMemory memory = Load(
      "<?xml version=\"1.0\"?><tmx version=\"1.4\"><body><tu><tuv xml:lang=\"en-US\"><seg>Press <bpt "
      "i=\"1\">&lt;b></bpt>"
      "Enter<ept i=\"1\">x</ept> &amp; <hi>wait</hi></seg></tuv><tuv xml:lang=\"fr\"><seg>Non</seg></tuv>"
      "<tuv xml:lang=\"DE\"><seg>Enter drücken</seg></tuv></tu><tu><tuv xml:lang=\"en\"><seg>Alone</seg></tuv></tu>"
      "</body></tmx>",
      kTmxMimeType);
  EXPECT_EQ(memory.size(), 1u);
  EXPECT_EQ(Found(memory, "Press Enter & wait"), "Enter drücken");
  EXPECT_FALSE(TranslationMemory::Load("<a/>", kTmxMimeType, "en", "de").ok());
}

TEST(TranslationMemoryTest, Po) {
  const TranslationMemory memory = Load(
      "msgid \"\"\nmsgstr \"Language: de\\n\"\n\nmsgid \"Open\"\nmsgstr \"Öffnen\"\n\n#, fuzzy\nmsgid \"Shut\"\nmsgstr "
      "\"Zu\"\n"
      "\nmsgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"%d Datei\"\nmsgstr[1] \"%d Dateien\"\n",
      kPoMimeType);
  EXPECT_EQ(Found(memory, "Open"), "Öffnen");
  EXPECT_EQ(Found(memory, "Shut"), "(none)");
  EXPECT_EQ(Found(memory, "%d files"), "%d Dateien");
}

TEST(TranslationMemoryTest, AlikeIsScored) {
  const TranslationMemory memory =
      Load("The server is not running.\tA\nThe server is running.\tB\nA fish is swimming.\tC\n", kTsvMimeType);
  const std::vector<Suggestion> alike = memory.FindAlike("The server was running.", 0.5);
  ASSERT_EQ(alike.size(), 2u);
  EXPECT_EQ(alike[0].translation, "B");
  EXPECT_DOUBLE_EQ(alike[0].score, 0.8);  // one word of five differs
  EXPECT_EQ(alike[1].translation, "A");
  EXPECT_NEAR(alike[1].score, 1 - 2.0 / 6, 1e-9);
  EXPECT_TRUE(memory.FindAlike("Nothing of that").empty());
  EXPECT_DOUBLE_EQ(memory.FindAlike("the SERVER is  running.")[0].score, 1.0);
}

// Entries "same 0", "same 1" and so on.
TranslationMemory ManyAlike(int count, TranslationMemory memory = TranslationMemory()) {
  for (int i = 0; i < count; ++i) memory.Add("same " + std::to_string(i), "x");
  return memory;
}

TEST(TranslationMemoryTest, AWordThatOccursOftenIsLookedForOnce) {
  const TranslationMemory memory = ManyAlike(20000);
  std::string words = "7";
  for (int i = 0; i < 399; ++i) words += " same";
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(memory.FindAlike(words).empty());
  EXPECT_EQ(memory.FindAlike("same 7", 1)[0].source, "same 7");
}

TEST(TranslationMemoryTest, LongSegmentsAreNotLookedFor) {
  const TranslationMemory memory = ManyAlike(20000);
  std::string words;
  for (int i = 0; i < 1000000; ++i) words += "same ";
  EXPECT_TRUE(memory.FindAlike(words).empty());
}

TEST(TranslationMemoryTest, ThereAreNoSuggestionsAfterAllSteps) {
  const TranslationMemory memory = ManyAlike(1000, TranslationMemory(/*steps=*/5000));
  int found = 0;
  for (int i = 0; i < 1000; ++i) found += memory.FindAlike("same 7").empty() ? 0 : 1;
  EXPECT_EQ(found, 3) << "each looks at 1001 entries, compares 64 with two words each, and clears 1000";
  TranslationMemory copy = memory;
  EXPECT_FALSE(copy.FindAlike("same 7").empty());
  copy = memory;
  EXPECT_FALSE(copy.FindAlike("same 7").empty());
}

TEST(TranslationMemoryTest, KindsAreToldByExtension) {
  EXPECT_EQ(*MemoryMimeTypeOfFile("a/b.tmx"), kTmxMimeType);
  EXPECT_THAT(std::string(MemoryMimeTypeOfFile("x.csv").status().message()), HasSubstr(".tmx, .po and .tsv"));
}

}  // namespace
}  // namespace salient
