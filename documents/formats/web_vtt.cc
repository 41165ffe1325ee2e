// WebVTT: the text of cues is translated. Times, settings, notes, styles and regions are not.

#include <string>

#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/units/subtitles.h"

namespace salient {

ParsedDocument ParseWebVtt(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "WebVTT", options.limits); !status.ok()) return status;
  const std::vector<ByteRange> lines = LinesOf(bytes, ByteOrderMark(bytes));
  const auto line = [&](size_t i) { return bytes.substr(lines[i].begin, lines[i].end - lines[i].begin); };
  if (lines.empty() || !line(0).starts_with("WEBVTT")) {
    return absl::InvalidArgumentError("WebVTT: the first line must begin with WEBVTT");
  }
  std::vector<ByteRange> cues;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (line(i).find("-->") == std::string_view::npos) continue;  // the name of a cue, or another kind of block
    const size_t first = i + 1;
    while (i + 1 < lines.size() && !line(i + 1).empty() && line(i + 1).find("-->") == std::string_view::npos) ++i;
    if (i >= first) cues.push_back({lines[first].begin, lines[i].end});
  }
  return MakePatchedDocument(
      PatchedText(std::string(bytes), MakeSubtitleUnits(bytes, cues, /*references=*/true, options), {}),
      options.limits);
}

}  // namespace salient
