#include "engine/base/files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  const TempFolder folder_;
  const std::string path_ = folder_ / "file";
};

TEST_F(FilesTest, AllBytesAreRead) {
  for (const size_t size : {0, 1, 65535, 65536, 65537, 300000}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
    const absl::StatusOr<std::string> read = ReadBytes(Write(bytes));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, bytes);
  }
}

TEST_F(FilesTest, ABoundIsKept) {
  Write(std::string(100000, 'a'));
  EXPECT_TRUE(ReadBytes(path_, 100000).ok());
  const absl::Status status = ReadBytes(path_, 99999).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "has more than 99999 bytes");
  EXPECT_FALSE(ReadBytes("/dev/zero", 1 << 20).ok()) << "the size of a device is not known before";
}

TEST_F(FilesTest, WhatCannotBeReadIsAnError) {
  EXPECT_EQ(ReadBytes(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadBytes(path_).status().message()), HasSubstr("No such file"));
  EXPECT_EQ(ReadBytes(folder_.path()).status().message(), "is a folder");
  std::filesystem::create_symlink(path_, path_);  // to itself: it is there, and cannot be opened
  EXPECT_FALSE(absl::IsNotFound(ReadBytes(path_).status())) << ReadBytes(path_).status();
  EXPECT_THAT(std::string(ReadBytes(path_).status().message()), HasSubstr("cannot be read: "));
  // The first page of a process's memory: it can be opened, and reading it fails.
  EXPECT_EQ(ReadBytes("/proc/self/mem").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FilesTest, APipeIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const absl::Status status = ReadRegular(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), path_ + " is no regular file");
  EXPECT_THAT(std::string(ReadRegular("/dev/zero").status().message()), HasSubstr("is no regular file"));
  EXPECT_THAT(std::string(ReadRegular(folder_.path()).status().message()), HasSubstr("is a folder"));
  EXPECT_EQ(ReadRegular(folder_ / "none").status().code(), absl::StatusCode::kNotFound);
  std::filesystem::remove(path_);
  EXPECT_EQ(ReadRegular(Write("bytes")).value_or(""), "bytes");
}

TEST_F(FilesTest, NamesInAFolderAreSorted) {
  for (const char* name : {"b", "a", ".hidden"}) std::ofstream(folder_ / name) << name;
  std::filesystem::create_directory(folder_ / "c");
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(folder_.path());
  ASSERT_TRUE(names.ok()) << names.status();
  EXPECT_THAT(*names, ElementsAre(".hidden", "a", "b", "c"));
}

TEST_F(FilesTest, AFolderThatCannotBeListedIsAnError) {
  const std::string none = folder_ / "none";
  EXPECT_EQ(NamesIn(none).status(), absl::NotFoundError(none + " cannot be listed: No such file or directory"));
  EXPECT_THAT(std::string(NamesIn(Write("a file")).status().message()), HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace salient
