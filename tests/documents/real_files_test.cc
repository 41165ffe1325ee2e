// Round trips of files that are installed on this machine, such as the documentation of Debian and Python.
//
// A file that a format refuses only has to be refused with a reason.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "tests/documents/round_trip.h"

namespace salient {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFiles = 60;            // per format
constexpr uintmax_t kLargest = 1 << 18;  // bytes

std::vector<std::string> FilesOf(const Format& format) {
  std::vector<std::string> files;
  for (const char* folder : {"/usr/share", "/usr/lib/python3", "/usr/lib/node_modules", "/usr/lib/libreoffice"}) {
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(folder, options, error), end; !error && at != end; at.increment(error)) {
      const std::string extension = at->path().extension().string();
      const auto& known = format.extensions;
      if (extension.size() < 2 || std::find(known.begin(), known.end(), extension.substr(1)) == known.end()) continue;
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

std::string ReadFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class RealFilesTest : public testing::TestWithParam<const char*> {};

TEST_P(RealFilesTest, RoundTrips) {
  const Format& format = **FormatNamed(GetParam());
  int passed = 0, refused = 0;
  size_t units = 0;
  for (const std::string& path : FilesOf(format)) {
    SCOPED_TRACE(path);
    const std::string bytes = ReadFile(path);
    const auto document = ParseDocument(format, bytes, {.source_language = "en"});
    if (!document.ok()) {
      EXPECT_FALSE(document.status().message().empty());
      ++refused;
      continue;
    }
    ExpectIdentity(GetParam(), bytes);
    if (std::string(GetParam()) != "text") ExpectTranslationIsRead(GetParam(), bytes);
    if (HasFailure()) return;
    units += (*document)->units().size();
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

}  // namespace
}  // namespace salient
