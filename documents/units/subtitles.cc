#include "documents/units/subtitles.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "documents/ascii.h"
#include "documents/characters.h"
#include "documents/syntax/xml_events.h"
#include "documents/units/unit_builder.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kLineWidth = 42;        // characters, as broadcasters have it
constexpr size_t kMostCues = 6;          // that one unit joins
constexpr size_t kMostCueWords = 10000;  // of a cue that is broken into lines

// Bytes of the tag at `at`; 0: there is none.
size_t TagLength(std::string_view text, size_t at) {
  if (text[at] != '<') return 0;
  const size_t end = text.find_first_of("<>", at + 1);
  return end != std::string_view::npos && text[end] == '>' ? end + 1 - at : 0;
}

// Characters, without tags.
size_t Width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t tag = TagLength(text, at);
    if (tag == 0 && !ContinuesCharacter(text[at])) ++width;
    at += std::max<size_t>(tag, 1);
  }
  return width;
}

// What stands between spaces. A space in a tag divides nothing.
std::vector<std::string> WordsAndTags(std::string_view text) {
  std::vector<std::string> words(1);
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(TagLength(text, at), 1);
    if (text[at] != ' ') {
      words.back().append(text.substr(at, length));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
    at += length;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// The words in lines of at most `width`, unless a word is longer; `lengths` are those of the words.
std::vector<std::string> Wrap(const std::vector<std::string>& words, const std::vector<size_t>& lengths, size_t width) {
  std::vector<std::string> lines;
  size_t used = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (lines.empty() || used + 1 + lengths[i] > width) {
      lines.push_back(words[i]);
      used = lengths[i];
    } else {
      lines.back().append(" ").append(words[i]);
      used += 1 + lengths[i];
    }
  }
  return lines;
}

// How many lines Wrap makes. The wider they are, the fewer.
size_t LinesOfWidth(const std::vector<size_t>& lengths, size_t width) {
  size_t lines = 0, used = 0;
  for (const size_t length : lengths) {
    const bool fits = lines > 0 && used + 1 + length <= width;
    used = fits ? used + 1 + length : length;
    lines += fits ? 0 : 1;
  }
  return lines;
}

// As few lines as `width` allows, and then as even as can be: the narrowest that are no more.
std::string Balance(std::string_view text, size_t width, const std::string& line_break) {
  const std::vector<std::string> words = WordsAndTags(text);
  if (words.size() > kMostCueWords) return std::string(text);
  std::vector<size_t> lengths;
  for (const std::string& word : words) lengths.push_back(Width(word));
  const size_t fewest = LinesOfWidth(lengths, width);
  size_t narrowest = fewest > 1 ? std::min<size_t>(2, width) : width;
  for (size_t widest = width; narrowest < widest;) {
    const size_t middle = narrowest + (widest - narrowest) / 2;
    if (LinesOfWidth(lengths, middle) > fewest) {
      narrowest = middle + 1;
    } else {
      widest = middle;
    }
  }
  std::string joined;
  for (const std::string& line : Wrap(words, lengths, narrowest)) {
    if (!joined.empty()) joined.append(line_break);
    joined.append(line);
  }
  return joined;
}

// Whether a line break after the text would make an empty line, which ends a cue.
bool EndsLine(std::string_view text) { return text.empty() || text.back() == '\n'; }

struct CueWriter {
  bool references = false;
  std::string line_break;
  size_t width = kLineWidth;

  std::string operator()(const Unit& unit, const MarkedText& translation,
                         const std::vector<std::string>& markers) const {
    std::string out, line;
    const auto flush = [&] {
      out.append(Balance(line, width, line_break));
      line.clear();
    };
    const auto write = [&](size_t begin, size_t end) {
      std::string text = translation.text.substr(begin, end - begin);
      std::replace(text.begin(), text.end(), '\n', ' ');
      // "-->" would end the cue.
      line.append(references ? absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}) : text);
    };
    size_t done = 0;
    for (const MarkerPlace& place : translation.places) {
      write(done, place.at);
      done = place.at;
      const std::string& marker = markers[place.marker];
      if (marker.find('\n') != std::string::npos) {  // the next line or the next cue
        flush();
        if (!IsBlank(marker) || !EndsLine(out)) out.append(marker);
      } else {
        line.append(marker);
      }
    }
    write(done, translation.text.size());
    flush();
    (void)unit;
    return out;
  }
};

UChar32 FirstLetterOrMark(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  bool in_tag = false;
  for (size_t at = 0; at < text.size();) {
    UChar32 c;
    U8_NEXT(bytes, at, text.size(), c);
    if (c == '<') in_tag = true;
    if (!in_tag && !u_isUWhiteSpace(c)) return c;
    if (c == '>') in_tag = false;
  }
  return 0;
}

bool GoesOn(std::string_view cue, std::string_view next) {
  const size_t last = cue.find_last_not_of(" \t\r\n\"'>/ib<");
  const bool ended =
      last != std::string_view::npos && std::string_view(".!?:)]").find(cue[last]) != std::string_view::npos;
  const bool ellipsis = cue.substr(0, last + 1).ends_with("...") || cue.substr(0, last + 1).ends_with("\xe2\x80\xa6");
  return !ended && !ellipsis && u_islower(FirstLetterOrMark(next));
}

// Bytes of what positions a line and of a sign before or in its speech, neither of which is text; 0: there is none. The
// speech begins at `speech`.
size_t SignLength(std::string_view line, size_t at, size_t speech) {
  const std::string_view rest = line.substr(at);
  if (at <= speech && rest.starts_with("{\\")) return rest.find('}') + 1;  // "{\an8}"
  size_t length = 0;
  for (const std::string_view chevron : {">", "&gt;"}) {
    while (at == speech && rest.substr(length).starts_with(chevron)) length += chevron.size();
    if (length > chevron.size()) return length;  // ">>"
  }
  for (const std::string_view note : {"♪", "♫"}) {
    if (rest.starts_with(note)) return note.size();
  }
  return 0;
}

// Where the speech of a line begins: behind tags, "{\an8}" and spaces.
size_t SpeechBegin(std::string_view line) {
  for (size_t at = 0; at < line.size();) {
    const size_t tag = TagLength(line, at), position = line[at] == '{' ? SignLength(line, at, at) : 0;
    const size_t length = std::max({tag, position, size_t{IsSpace(line[at])}});
    if (length == 0) return at;
    at += length;
  }
  return line.size();
}

// "JOHN: " and its like: capital letters, a colon, and white space.
bool BeginsWithName(std::string_view speech) {
  constexpr size_t kLongestName = 40;
  const auto* bytes = reinterpret_cast<const uint8_t*>(speech.data());
  for (size_t at = 0; at < std::min(speech.size(), kLongestName);) {
    const bool is_first = at == 0;
    UChar32 c;
    U8_NEXT(bytes, at, speech.size(), c);
    if (c == ':') return !is_first && (at == speech.size() || IsSpace(speech[at]));
    const bool is_in_name = u_isdigit(c) || (c < 0x80 && IsOneOf(static_cast<char>(c), " .'-#&()"));
    if (!u_isupper(c) && (is_first || !is_in_name)) return false;
  }
  return false;
}

// Whether a line is that of another speaker than the line before, or of a song.
bool IsOfItsOwn(std::string_view line) {
  const size_t begin = SpeechBegin(line);
  const std::string_view speech = line.substr(begin);
  for (const std::string_view dash : {"-", "–", "—"}) {
    if (speech.starts_with(dash)) return true;
  }
  if (line.starts_with("<v ") || line.starts_with("<v.")) return true;  // the speaker's name, in WebVTT
  if (speech.starts_with('[') && speech.find(']') != std::string_view::npos) return true;
  return SignLength(line, begin, begin) > 0 || BeginsWithName(speech);
}

class SubtitleBuilder {
 public:
  SubtitleBuilder(std::string_view bytes, bool references, const ParseOptions& options)
      : bytes_(bytes),
        references_(references),
        limits_(options.limits),
        builder_(bytes, {{options.keep_terms, /*tags=*/true}}),
        writer_{references, bytes.find("\r\n") != std::string_view::npos ? "\r\n" : "\n"} {}

  std::vector<PlacedUnit> Build(const std::vector<ByteRange>& cues) {
    size_t joined = 0;
    for (size_t i = 0; i < cues.size() && !HasTooManyUnits(units_.size(), limits_); ++i) {
      if (joined > 0) builder_.Standalone({cues[i - 1].end, cues[i].begin}, /*ordered=*/true, /*is_word=*/true);
      AddCue(cues[i]);
      const bool more = i + 1 < cues.size() && ++joined < kMostCues && GoesOn(Bytes(cues[i]), Bytes(cues[i + 1]));
      if (more) continue;
      joined = 0;
      Finish();
    }
    return std::move(units_);
  }

 private:
  std::string_view Bytes(ByteRange range) const { return bytes_.substr(range.begin, range.end - range.begin); }

  void AddCue(ByteRange cue) {
    size_t end_before = cue.begin;
    for (const ByteRange& line : LinesOf(bytes_.substr(0, cue.end), cue.begin)) {
      writer_.width = std::max(writer_.width, Width(Bytes(line)));
      if (line.begin > cue.begin && IsOfItsOwn(Bytes(line))) {
        builder_.Standalone({end_before, line.begin}, /*ordered=*/true, /*is_word=*/true, /*breaks=*/true);
      } else if (line.begin > cue.begin) {
        builder_.AddDecoded({end_before, line.begin}, " ");
      }
      AddLine(line);
      end_before = line.end;
    }
  }

  void AddLine(ByteRange line) {
    const std::string_view text = Bytes(line);
    const size_t speech = SpeechBegin(text);
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const size_t sign = SignLength(text, at, speech);
      if (sign > 0) {
        AddText({line.begin + done, line.begin + at});
        builder_.Standalone({line.begin + at, line.begin + at + sign}, /*ordered=*/true, /*is_word=*/false);
        done = at + sign;
      }
      at += std::max<size_t>(sign, 1);
    }
    AddText({line.begin + done, line.end});
  }

  void AddText(ByteRange text) {
    if (references_) {
      builder_.AddTextWithReferences(text, /*in_attribute=*/false);
    } else {
      builder_.AddText(text);
    }
  }

  void Finish() {
    PlacedUnit unit;
    if (builder_.Finish(&unit)) {
      unit.write = writer_;
      units_.push_back(std::move(unit));
    }
    writer_.width = kLineWidth;
  }

  const std::string_view bytes_;
  const bool references_;
  const DocumentLimits limits_;
  UnitBuilder builder_;
  CueWriter writer_;
  std::vector<PlacedUnit> units_;
};

}  // namespace

std::vector<PlacedUnit> MakeSubtitleUnits(std::string_view bytes, const std::vector<ByteRange>& cues, bool references,
                                          const ParseOptions& options) {
  return SubtitleBuilder(bytes, references, options).Build(cues);
}

std::vector<ByteRange> LinesOf(std::string_view bytes, size_t begin) {
  std::vector<ByteRange> lines;
  while (begin < bytes.size()) {
    const size_t next = std::min(bytes.find('\n', begin), bytes.size());
    const size_t end = next > begin && bytes[next - 1] == '\r' ? next - 1 : next;
    lines.push_back({begin, end});
    begin = next + 1;
  }
  return lines;
}

}  // namespace salient
