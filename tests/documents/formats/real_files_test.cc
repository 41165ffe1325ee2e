// Round trips of files that are installed on this machine, such as the documentation of Debian and Python, or that are
// in the folder $SALIENT_REAL_FILES instead.
//
// A file that a format refuses only has to be refused with a reason.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "tests/documents/round_trip.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFiles = 60;            // per format
constexpr uintmax_t kLargest = 1 << 18;  // bytes

std::vector<std::string> FilesOf(const Format& format) {
  std::vector<std::string> files;
  std::vector<std::string> folders = {"/usr/share", "/usr/lib/python3", "/usr/lib/node_modules",
                                      "/usr/lib/libreoffice"};
  if (const char* given = std::getenv("SALIENT_REAL_FILES")) folders = {given};
  for (const std::string& folder : folders) {
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end; at.increment(error)) {
      const std::string extension = at->path().extension().string();
      const auto type = TypeOfFile("file" + extension);
      if (!type.ok() || type->format != &format) continue;
      if (at->is_regular_file(error) && at->file_size(error) <= kLargest) files.push_back(at->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  // Evenly spread over all files, and the same in every run.
  std::vector<std::string> chosen;
  const size_t step = std::max<size_t>(1, files.size() / kFiles);
  for (size_t i = 0; i < files.size() && chosen.size() < kFiles; i += step) chosen.push_back(files[i]);
  return chosen;
}

// Null: the file is refused, with a reason.
std::unique_ptr<FormattedDocument> ParseOrSayWhyNot(const Format& format, const std::string& path,
                                                    const std::string& bytes) {
  auto document = ParseDocument(format, bytes, {.source_language = "en"});
  if (document.ok()) return *std::move(document);
  EXPECT_FALSE(document.status().message().empty());
  std::cout << path << ": " << document.status().message() << "\n";
  return nullptr;
}

class RealFilesTest : public testing::TestWithParam<const char*> {};

TEST_P(RealFilesTest, RoundTrips) {
  const Format& format = **FormatNamed(GetParam());
  int passed = 0, refused = 0;
  size_t units = 0;
  for (const std::string& path : FilesOf(format)) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    const auto document = ParseOrSayWhyNot(format, path, bytes);
    if (document == nullptr) {
      ++refused;
      continue;
    }
    ExpectIdentity(GetParam(), bytes);
    if (std::string(GetParam()) != "text") ExpectTranslationIsRead(GetParam(), bytes);
    if (HasFailure()) return;
    units += document->units().size();
    ++passed;
  }
  if (passed == 0) GTEST_SKIP() << "this machine has no files of this format";
  std::cout << GetParam() << ": " << passed << " files with " << units << " units came back byte for byte; " << refused
            << " were refused\n";
}

INSTANTIATE_TEST_SUITE_P(All, RealFilesTest,
                         testing::Values("text", "markdown", "html", "docx", "pptx", "xlsx", "odt", "srt", "vtt",
                                         "json", "yaml"),
                         [](const auto& test) { return std::string(test.param); });

// Files of source and target: what has no target yet gets one, and nothing is left then.
class RealCatalogueTest : public testing::TestWithParam<const char*> {};

TEST_P(RealCatalogueTest, IsFilled) {
  const Format& format = **FormatNamed(GetParam());
  int passed = 0;
  size_t units = 0;
  for (const std::string& path : FilesOf(format)) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    const auto document = ParseOrSayWhyNot(format, path, bytes);
    if (document == nullptr) continue;
    const std::string filled = RenderRot13(*document);
    if (document->units().empty()) {
      EXPECT_TRUE(filled == bytes);
    }
    const auto again = ParseAs(GetParam(), filled);
    ASSERT_NE(again, nullptr);
    EXPECT_TRUE(again->units().empty()) << filled;
    if (HasFailure()) return;
    units += document->units().size();
    ++passed;
  }
  if (passed == 0) GTEST_SKIP() << "this machine has no files of this format";
  std::cout << GetParam() << ": " << units << " units of " << passed << " files were filled\n";
}

INSTANTIATE_TEST_SUITE_P(All, RealCatalogueTest, testing::Values("po", "xliff"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace salient
