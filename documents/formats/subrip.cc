// SubRip (.srt): a number, a line of times, lines of text, an empty line. Numbers and times stay as they are.

#include <string>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/subtitles.h"

namespace salient {
namespace {

bool IsTime(std::string_view line) {
  return line.find("-->") != std::string_view::npos && line.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

ParsedDocument ParseSubRip(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "SubRip", options.limits); !status.ok()) return status;
  const std::vector<ByteRange> lines = LinesOf(bytes, ByteOrderMark(bytes));
  const auto line = [&](size_t i) { return bytes.substr(lines[i].begin, lines[i].end - lines[i].begin); };
  std::vector<ByteRange> cues;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (line(i).empty()) continue;
    if (i + 1 < lines.size() && !IsTime(line(i)) && IsTime(line(i + 1))) ++i;
    if (!IsTime(line(i))) {
      return absl::InvalidArgumentError(
          absl::StrCat("SubRip: line ", i + 1,
                       " stands where a cue's number or times must be, such as 00:00:01,000 --> 00:00:02,500"));
    }
    const size_t first = i + 1;
    while (i + 1 < lines.size() && !line(i + 1).empty()) ++i;
    if (i >= first) cues.push_back({lines[first].begin, lines[i].end});
  }
  return MakePatchedDocument(
      PatchedText(std::string(bytes), MakeSubtitleUnits(bytes, cues, /*references=*/false, options), {}),
      options.limits);
}

}  // namespace salient
