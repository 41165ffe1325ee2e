#include "client/documents.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "tests/client/process.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// Files by their own names.
absl::StatusOr<std::vector<std::string>> Plan(const std::vector<std::string>& files, const std::string& out) {
  std::vector<NamedFile> named;
  for (const std::string& file : files) named.push_back({file, std::filesystem::path(file).filename().string()});
  return PlanOutputs(named, out);
}

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
  WriteFile(folder / "utf16le", std::string("\xff\xfeH\0i\0", 6));
  WriteFile(folder / "utf16be", std::string("\xfe\xff\0H\0i", 6));
  for (const char* name : {"utf16le", "utf16be"}) {
    EXPECT_THAT(Message(ReadDocument(folder / name).status()),
                AllOf(HasSubstr("is in UTF-16"), HasSubstr("iconv -f UTF-16 -t UTF-8")));
  }
}

TEST(ReadDocumentTest, AReadThatFailsIsTheDocumentsError) {
  for (const bool is_binary : {false, true}) {
    const absl::Status status = ReadDocument("/proc/self/mem", is_binary).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("cannot be read to its end: Input/output error"));
  }
}

// Standard input of which one page can be read and nothing after it: memory of this process, then a gap.
class BrokenInput {
 public:
  BrokenInput() {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    std::memset(memory, 'a', page);
    EXPECT_EQ(munmap(static_cast<char*>(memory) + page, page), 0);
    const int file = open("/proc/self/mem", O_RDONLY);
    EXPECT_GE(file, 0);
    EXPECT_GE(lseek(file, static_cast<off_t>(reinterpret_cast<uintptr_t>(memory)), SEEK_SET), 0);
    EXPECT_EQ(dup2(file, STDIN_FILENO), STDIN_FILENO);
    close(file);
  }
  ~BrokenInput() {
    dup2(before_, STDIN_FILENO);
    close(before_);
    std::clearerr(stdin);
  }
  BrokenInput(const BrokenInput&) = delete;
  BrokenInput& operator=(const BrokenInput&) = delete;

 private:
  const int before_ = dup(STDIN_FILENO);
};

TEST(ReadDocumentTest, StandardInputThatBreaksOffIsNotTakenForAWhole) {
  const BrokenInput input;
  const absl::Status status = ReadDocument("-").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(Message(status), HasSubstr("cannot be read to its end: Input/output error"));
}

TEST(FormatOfDocumentTest, UnknownExtensionsAreNotTakenForText) {
  for (const char* text : {"-", "README", "dir.d/README", ".notes", "a.txt", "A.TEXT", "end."}) {
    ASSERT_TRUE(FormatOfDocument(text).ok()) << text << ": " << FormatOfDocument(text).status();
    EXPECT_EQ((*FormatOfDocument(text))->name, "text") << text;
  }
  EXPECT_EQ((*FormatOfDocument("a.b.md"))->name, "markdown");
  EXPECT_THAT(Message(FormatOfDocument("x/letter.rtf").status()),
              AllOf(HasSubstr("its extension is .rtf; known are txt, text, md"), HasSubstr("xml; give --format"),
                    HasSubstr("--format text if it is plain text")));
}

TEST(PlanOutputsTest, WhereTranslationsGo) {
  const TempFolder folder;
  EXPECT_THAT(*Plan({"a", "b"}, ""), ElementsAre("", ""));
  EXPECT_THAT(*Plan({"x/a.txt"}, folder / "b.txt"), ElementsAre(folder / "b.txt"));
  EXPECT_THAT(*Plan({"-"}, folder / "b.txt"), ElementsAre(folder / "b.txt"));
  EXPECT_THAT(*Plan({"x/a.txt"}, folder.path()), ElementsAre(folder / "a.txt"));
  EXPECT_THAT(*Plan({"x/a", "y/b"}, folder / "new/deep"), ElementsAre(folder / "new/deep/a", folder / "new/deep/b"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "new/deep"));
  EXPECT_THAT(*Plan({"x/a"}, folder / "slash/"), ElementsAre(folder / "slash/a"));
}

TEST(PlanOutputsTest, NothingIsOverwrittenUnasked) {
  const TempFolder folder;
  WriteFile(folder / "a", "text");
  EXPECT_THAT(Message(Plan({folder / "a"}, folder / "a").status()), HasSubstr("would be overwritten"));
  EXPECT_THAT(Message(Plan({folder / "a", "b"}, folder.path()).status()), HasSubstr("would be overwritten"));
  std::filesystem::create_symlink(folder / "a", folder / "link");
  EXPECT_THAT(Message(Plan({folder / "a"}, folder / "link").status()), HasSubstr("would be overwritten"));
  EXPECT_THAT(Message(Plan({"x/a", "y/a"}, folder / "out").status()), HasSubstr("would both go to"));
  EXPECT_THAT(Message(Plan({"a", "-"}, folder / "out").status()), HasSubstr("standard input has no name"));
}

TEST(PlanOutputsTest, NamesTellTheLanguage) {
  const TempFolder folder;
  EXPECT_EQ(NameInLanguage("a/report.docx", "de"), "a/report.de.docx");
  EXPECT_EQ(NameInLanguage("README", "pt-BR"), "README.pt-BR");
  EXPECT_EQ(NameInLanguage("a.b.txt", ""), "a.b.txt");
  EXPECT_THAT(*PlanOutputs({{"x/a.txt", "a.txt"}, {"x/s/b.md", "s/b.md"}}, folder / "out", "de"),
              ElementsAre(folder / "out/a.de.txt", folder / "out/s/b.de.md"));
  EXPECT_TRUE(std::filesystem::is_directory(folder / "out/s"));
}

// For as long as it lives, this process is no root, whom permissions do not hold.
class NoRoot {
 public:
  NoRoot() : became_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~NoRoot() {
    if (became_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  NoRoot(const NoRoot&) = delete;
  NoRoot& operator=(const NoRoot&) = delete;

 private:
  const bool became_;
};

TEST(PlanOutputsTest, AFolderThatTakesNoFileIsSaidBeforeTheTranslation) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  fs::create_directory(folder / "closed");
  fs::create_symlink("closed/a.txt", folder / "link");
  fs::permissions(folder / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(folder.path(), fs::perms::all);
  const NoRoot no_root;
  if (geteuid() == 0) GTEST_SKIP() << "this process cannot become another user";
  for (const char* out : {"closed/a.txt", "closed/", "link"}) {
    EXPECT_THAT(Message(Plan({"x/a.txt"}, folder / out).status()),
                AllOf(HasSubstr(out), HasSubstr("no file can be made in its folder: Permission denied")));
  }
  EXPECT_TRUE(Plan({"x/a.txt"}, folder / "b.txt").ok());
  EXPECT_TRUE(Plan({"x/a.txt"}, "/dev/null").ok()) << "in whose folder no file is made";
}

TEST(ListDocumentsTest, AFolderThatCannotBeReadIsNamed) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  fs::create_directories(folder / "in/closed");
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(folder / "in/closed", fs::perms::none);
  {
    const NoRoot no_root;
    if (geteuid() == 0) GTEST_SKIP() << "this process cannot become another user";
    EXPECT_THAT(Message(ListDocuments({folder / "in"}).status()),
                HasSubstr("in/closed: cannot be read: Permission denied"));
  }
  fs::permissions(folder / "in/closed", fs::perms::owner_all);
}

TEST(ListDocumentsTest, WhatAnEarlierRunTranslatedIsLeftOut) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "in/de/deep");
  WriteFile(folder / "in/a.txt", "a");
  WriteFile(folder / "in/de/a.de.txt", "a");
  WriteFile(folder / "in/de/deep/b.de.txt", "b");
  const auto documents = ListDocuments({folder / "in"}, folder / "in/./de/");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 1u);
  EXPECT_EQ(documents->front().name, "a.txt");
  EXPECT_EQ(ListDocuments({folder / "in"}, folder / "in")->size(), 3u) << "the folder itself is asked for";
}

TEST(ListDocumentsTest, OfFoldersWhatHasAFormat) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "in/deep");
  WriteFile(folder / "in/b.md", "b");
  WriteFile(folder / "in/a.html", "a");
  WriteFile(folder / "in/picture.png", "no");
  WriteFile(folder / "in/deep/c.srt", "c");
  std::filesystem::create_symlink("loop.md", folder / "in/loop.md");  // to itself
  const auto documents = ListDocuments({"x/y.png", folder / "in", "-"});
  ASSERT_TRUE(documents.ok()) << documents.status();
  std::vector<std::string> names;
  for (const NamedFile& document : *documents) names.push_back(document.name);
  EXPECT_THAT(names, ElementsAre("y.png", "a.html", "b.md", "deep/c.srt", "-"));
  EXPECT_EQ((*documents)[3].path, folder / "in/deep/c.srt");
  std::filesystem::create_directories(folder / "none");
  EXPECT_THAT(Message(ListDocuments({folder / "none"}).status()), HasSubstr("tells a format"));
}

TEST(ReadDocumentTest, BinaryFormatsAreNoText) {
  const TempFolder folder;
  WriteFile(folder / "a.docx", "PK\xff");
  EXPECT_EQ(*ReadDocument(folder / "a.docx", /*is_binary=*/true), "PK\xff");
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

TEST(WriteTranslationTest, ALinkAndThePermissionsStay) {
  namespace fs = std::filesystem;
  const TempFolder folder;
  WriteFile(folder / "v3", "old");
  fs::permissions(folder / "v3", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("v3", folder / "latest");
  ASSERT_TRUE(WriteTranslation(folder / "latest", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "latest"));
  EXPECT_EQ(ReadFile(folder / "v3"), "new");
  EXPECT_EQ(fs::status(folder / "v3").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_directory(folder / "deep");
  fs::create_symlink("deep/link", folder / "next");
  fs::create_symlink("v4", folder / "deep/link");  // leads to no file yet
  ASSERT_TRUE(WriteTranslation(folder / "next", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder / "next") && fs::is_symlink(folder / "deep/link"));
  EXPECT_EQ(ReadFile(folder / "deep/v4"), "new");
}

TEST(WriteTranslationTest, NoOtherFileIsTouched) {
  const TempFolder folder;
  WriteFile(folder / "a.part", "a document");
  WriteFile(folder / "a.part2", "another");
  std::filesystem::create_symlink("b", folder / "a.part3");  // leads to no file yet
  ASSERT_TRUE(WriteTranslation(folder / "a", "new").ok());
  EXPECT_EQ(ReadFile(folder / "a"), "new");
  EXPECT_EQ(ReadFile(folder / "a.part"), "a document");
  EXPECT_EQ(ReadFile(folder / "a.part2"), "another");
  EXPECT_FALSE(std::filesystem::exists(folder / "b"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.part4"));
}

TEST(WriteTranslationTest, WhatCannotBeWrittenLeavesNothing) {
  const TempFolder folder;
  EXPECT_THAT(Message(WriteTranslation("/dev/full", "text")), HasSubstr("No space left"));
  std::filesystem::create_directory(folder / "a");
  EXPECT_THAT(Message(WriteTranslation(folder / "a", "text")), HasSubstr("Is a directory"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.part"));
}

}  // namespace
}  // namespace salient
