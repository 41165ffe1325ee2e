// SubRip (.srt): a number, a line of times, lines of text, an empty line. Numbers and times stay as they are.
//
// Files with small faults are read as players read them: the empty line may have white space in it, or be missing, or
// stand within the text of a cue.

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/units/subtitles.h"

namespace salient {
namespace {

// A line of text with an arrow in it, such as "Press A --> 3", is none: it has letters before the arrow.
bool IsTime(std::string_view line) {
  const size_t arrow = line.find("-->");
  if (arrow == std::string_view::npos) return false;
  const std::string_view start = line.substr(0, arrow);
  return start.find_first_of("0123456789") != std::string_view::npos &&
         std::none_of(start.begin(), start.end(), [](unsigned char c) { return absl::ascii_isalpha(c); });
}

bool IsNumber(std::string_view line) {
  return !IsBlank(line) && line.find_first_not_of("0123456789 \t\r") == std::string_view::npos;
}

class SubRipReader {
 public:
  explicit SubRipReader(std::string_view bytes) : bytes_(bytes), lines_(LinesOf(bytes, ByteOrderMark(bytes))) {}

  // The ranges of the cues' texts, of which empty lines are no part.
  absl::StatusOr<std::vector<ByteRange>> Texts() {
    bool in_cue = false;
    for (size_t i = 0; i < lines_.size();) {
      if (IsBlank(Line(i))) {
        ++i;
        continue;
      }
      if (!IsTime(Line(i)) && i + 1 < lines_.size() && IsTime(Line(i + 1))) ++i;
      if (IsTime(Line(i))) {
        in_cue = true;
        ++i;
      } else if (!in_cue) {
        return absl::InvalidArgumentError(
            absl::StrCat("SubRip: line ", i + 1,
                         " stands where a cue's number or times must be, such as 00:00:01,000 --> 00:00:02,500"));
      }
      i = TakeText(i);
    }
    return std::move(texts_);
  }

 private:
  std::string_view Line(size_t i) const { return bytes_.substr(lines_[i].begin, lines_[i].end - lines_[i].begin); }

  bool StartsCue(size_t i) const {
    return IsTime(Line(i)) || (IsNumber(Line(i)) && i + 1 < lines_.size() && IsTime(Line(i + 1)));
  }

  // Takes a text, which begins at line `first`. Returns the line after it. Lines of white space within the text are a
  // part of it; those at its ends are not.
  size_t TakeText(size_t first) {
    size_t end = first;
    while (end < lines_.size() && !Line(end).empty() && !StartsCue(end)) ++end;
    size_t last = end;
    while (last > first && IsBlank(Line(last - 1))) --last;
    while (first < last && IsBlank(Line(first))) ++first;
    if (first < last) texts_.push_back({lines_[first].begin, lines_[last - 1].end});
    return end;
  }

  const std::string_view bytes_;
  const std::vector<ByteRange> lines_;
  std::vector<ByteRange> texts_;
};

}  // namespace

ParsedDocument ParseSubRip(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "SubRip", options.limits); !status.ok()) return status;
  const absl::StatusOr<std::vector<ByteRange>> texts = SubRipReader(bytes).Texts();
  if (!texts.ok()) return texts.status();
  return MakePatchedDocument(
      PatchedText(std::string(bytes), MakeSubtitleUnits(bytes, *texts, /*references=*/false, options), {}),
      options.limits);
}

}  // namespace salient
