#include "documents/resources/memory.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST(TranslationMemoryTest, AFileThatIsTooLargeIsNoDocumentToBeSplit) {
  for (const std::string_view type : {kTmxMimeType, kPoMimeType, kTsvMimeType}) {
    EXPECT_EQ(TranslationMemory::Load("a\tb\n", type, "en", "de", {.max_bytes = 3}).status().message(),
              "has 4 bytes; at most 3 are allowed; leave out what the document does not need");
  }
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

TEST(TranslationMemoryTest, WhiteSpaceAroundAndBetweenTheWordsDoesNotMatter) {
  const TranslationMemory memory = Load(
      "<tmx><body><tu><tuv xml:lang=\"en\"><seg>\n  Ten\u00a0km\n  to go.\n</seg></tuv>"
      "<tuv xml:lang=\"de\"><seg>\n  Noch zehn\u00a0km\r\n  bis  dahin.\n</seg></tuv></tu></body></tmx>",
      kTmxMimeType);
  const std::string translation = "Noch zehn\u00a0km bis  dahin.";
  EXPECT_EQ(Found(memory, "Ten km to go."), translation) << "indented by a program that writes XML";
  EXPECT_EQ(Found(memory, "Ten\u202fkm  to go."), translation);
  EXPECT_EQ(Found(Load("Yes\t Ja \n", kTsvMimeType), "Yes"), "Ja");
  EXPECT_EQ(Load("Yes\t\u00a0\n", kTsvMimeType).size(), 0u);
}

TEST(TranslationMemoryTest, WhatIsNoTextIsLeftOut) {
  const TranslationMemory memory = Load(R"(msgid "Op\aen"
msgstr "\000 \303\226ff\0nen\x1f \333"
)",
                                        kPoMimeType);
  EXPECT_EQ(Found(memory, "Open"), "Öffnen");
  TranslationMemory own;
  own.Add("One.", std::string("\0", 1) + " Ein\uFFFEs.\x7f");
  EXPECT_EQ(Found(own, "One."), "Eins.");
  own.Add("Two.", "\x01");
  EXPECT_EQ(own.size(), 1u) << "nothing is left of it";
}

TEST(TranslationMemoryTest, PoWithAccelerators) {
  const TranslationMemory memory = Load("msgid \"&Open\"\nmsgstr \"Öff&nen\"\n", kPoMimeType);
  EXPECT_EQ(Found(memory, "Open"), "Öffnen");
}

TEST(TranslationMemoryTest, AlikeIsScored) {
  const TranslationMemory memory =
      Load("The server is not running.\tA\nThe server is running.\tB\nA fish is swimming.\tC\n", kTsvMimeType);
  TranslationMemory::Steps steps;
  const std::vector<Suggestion> alike = memory.FindAlike("The server was running.", steps, 0.5);
  ASSERT_EQ(alike.size(), 2u);
  EXPECT_EQ(alike[0].translation, "B");
  EXPECT_DOUBLE_EQ(alike[0].score, 0.8);  // one word of five differs
  EXPECT_EQ(alike[1].translation, "A");
  EXPECT_NEAR(alike[1].score, 1 - 2.0 / 6, 1e-9);
  EXPECT_TRUE(memory.FindAlike("Nothing of that", steps).empty());
  EXPECT_DOUBLE_EQ(memory.FindAlike("the SERVER is  running.", steps)[0].score, 1.0);
}

// Entries "same 0", "same 1" and so on.
TranslationMemory ManyAlike(int count) {
  TranslationMemory memory;
  for (int i = 0; i < count; ++i) memory.Add("same " + std::to_string(i), "x");
  return memory;
}

TEST(TranslationMemoryTest, AWordThatOccursOftenIsLookedForOnce) {
  const TranslationMemory memory = ManyAlike(20000);
  std::string words = "7";
  for (int i = 0; i < 399; ++i) words += " same";
  TranslationMemory::Steps steps;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(memory.FindAlike(words, steps).empty());
  EXPECT_EQ(memory.FindAlike("same 7", steps, 1)[0].source, "same 7");
}

TEST(TranslationMemoryTest, LongSegmentsAreNotLookedFor) {
  const TranslationMemory memory = ManyAlike(20000);
  std::string words;
  for (int i = 0; i < 1000000; ++i) words += "same ";
  TranslationMemory::Steps steps;
  EXPECT_TRUE(memory.FindAlike(words, steps).empty());
}

TEST(TranslationMemoryTest, ThereAreNoSuggestionsAfterAllSteps) {
  const TranslationMemory memory = ManyAlike(1000);
  TranslationMemory::Steps steps(5000), others;
  int found = 0;
  for (int i = 0; i < 1000; ++i) found += memory.FindAlike("same 7", steps).empty() ? 0 : 1;
  EXPECT_EQ(found, 3) << "each looks at 1001 entries, compares 64 with two words each, and clears 1000";
  EXPECT_FALSE(memory.FindAlike("same 7", others).empty()) << "each document has steps of its own";
}

using Entries = std::vector<std::pair<std::string, std::string>>;

// As text: what FindAlike finds, and for which text the steps end.
std::string Alike(const TranslationMemory& memory, int64_t most_steps) {
  TranslationMemory::Steps steps(most_steps);
  std::string all;
  for (const char* text : {"the red key", "the green key now", "press the key", "a b", "key", "another"}) {
    absl::StrAppend(&all, text, ": ", Found(memory, text));
    for (const Suggestion& one : memory.FindAlike(text, steps, 0.1, 5)) {
      absl::StrAppend(&all, " (", one.source, " = ", one.translation, ", ", one.score, ")");
    }
    all += "\n";
  }
  return all;
}

TEST(SharedMemoryTest, EntriesAreFoundAsIfTheyHadBeenAddedToOne) {
  const Entries entries = {{"the red key", "A"},       {"press the key now", "B"}, {"the blue key", "C"},
                           {"the red  key", "D"},      {"the green key", "E"},     {"press", "F"},
                           {"press the key now", "G"}, {"another one", "H"},       {"the red key", " "},
                           {"the blue key", "I"},      {"the the key", "J"},       {"the green key", "K"}};
  for (size_t shared = 0; shared <= entries.size(); ++shared) {
    TranslationMemory first, all;
    for (size_t i = 0; i < entries.size(); ++i) {
      all.Add(entries[i].first, entries[i].second);
      if (i < shared) first.Add(entries[i].first, entries[i].second);
    }
    TranslationMemory both(std::make_shared<const TranslationMemory>(std::move(first)));
    for (size_t i = shared; i < entries.size(); ++i) both.Add(entries[i].first, entries[i].second);
    EXPECT_EQ(both.size(), all.size());
    for (int64_t steps = 0; steps < 300; ++steps) EXPECT_EQ(Alike(both, steps), Alike(all, steps)) << shared;
    TranslationMemory copied;
    copied.Add(both);
    EXPECT_EQ(Alike(copied, 300), Alike(all, 300)) << shared;
  }
}

TEST(SharedMemoryTest, NothingIsCopied) {
  const auto shared = std::make_shared<const TranslationMemory>(Load("Yes\tJa\nNo\tNein\n", kTsvMimeType));
  TranslationMemory one(shared), other(shared);
  one.Add("Yes", "Doch");
  EXPECT_EQ(one.Find("No"), shared->Find("No"));
  EXPECT_EQ(Found(one, "Yes"), "Doch");
  EXPECT_EQ(Found(other, "Yes"), "Ja");
  EXPECT_EQ(TranslationMemory(nullptr).size(), 0u);
}

TEST(SharedMemoryTest, AWordIsCommonByTheEntriesOfBothParts) {
  TranslationMemory both(std::make_shared<const TranslationMemory>(ManyAlike(15000)));
  TranslationMemory::Steps steps;
  EXPECT_FALSE(both.FindAlike("same", steps, 0.5).empty());
  for (int i = 15000; i <= 20000; ++i) both.Add("same " + std::to_string(i), "x");
  EXPECT_TRUE(both.FindAlike("same", steps, 0.5).empty());
}

TEST(TranslationMemoryTest, KindsAreToldByExtension) {
  EXPECT_EQ(*MemoryMimeTypeOfFile("a/b.tmx"), kTmxMimeType);
  EXPECT_THAT(std::string(MemoryMimeTypeOfFile("x.csv").status().message()), HasSubstr(".tmx, .po and .tsv"));
}

}  // namespace
}  // namespace salient
