// Splits a document into segments.
//
// First into lines. A line break always ends a segment, unless the line was broken only because it was full. Such lines
// form a block (below); every other line is a block of its own. ICU finds the sentences within a block; boundaries
// after abbreviations are ignored. A tab in a line ends a segment, too: columns stand on both sides of it. White space,
// list markers and text without a letter are not part of any segment: they are glue.
//
// Hard-wrapped paragraphs. A run is a sequence of lines with no empty line or list marker between them. A run is taken
// for wrapped text if, on every line but the last, the next line's first word did not fit: with that word, the line
// would come close to the length of the run's longest line. Those lines must be 45 to 100 characters long. A run of two
// lines says little about its margin. So its second line must begin in lower case, or its first line must come close to
// the margin of the document's longer paragraphs. Only its first line may have tabs, but for those that indent. With
// these rules verse, headings, addresses and tables keep their lines, and so do files with one paragraph on each line.
// If the rest of a run is wrapped without its first line, that line is a heading.

#include "engine/text/document.h"

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"
#include "engine/text/abbreviations.h"

namespace salient {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;              // ICU counts in 32 bits
constexpr int32_t kLeastWrapped = 45, kMostWrapped = 100;  // characters in a wrapped line
constexpr int32_t kWrapSlack = 8;                          // how ragged the right margin may be

struct Span {
  size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

struct Line {
  Span content;              // without white space and marker at its ends; empty if there is nothing else
  bool has_marker = false;   // begins with a bullet, a number or the like
  bool after_empty = false;  // an empty line or the document's beginning stands before it
  int32_t indent = 0;        // characters before marker and content
  int32_t width = 0;         // characters up to the content's end
  int32_t first_word = 0;    // characters
};

// Calls visit(character, begin, end) until it returns false. `text` is valid UTF-8.
template <typename Visit>
void ForEachCharacter(std::string_view text, Span span, Visit visit) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (size_t at = span.begin; at < span.end;) {
    const size_t begin = at;
    UChar32 c;
    U8_NEXT_UNSAFE(bytes, at, c);
    if (!visit(c, begin, at)) return;
  }
}

bool IsLineBreak(UChar32 c) { return (c >= 0x0a && c <= 0x0d) || c == 0x85 || c == 0x2028 || c == 0x2029; }

Span Trim(std::string_view text, Span span) {
  Span trimmed{span.end, span.end};
  ForEachCharacter(text, span, [&](UChar32 c, size_t begin, size_t end) {
    if (IsSegmentSpace(c)) return true;
    trimmed.begin = std::min(trimmed.begin, begin);
    trimmed.end = end;
    return true;
  });
  if (trimmed.begin == span.end) return {span.begin, span.begin};
  return trimmed;
}

// Whether there is anything to translate. Fillers, such as U+3164, are letters that nobody sees.
bool HasLetter(std::string_view text, Span span) {
  bool found = false;
  ForEachCharacter(text, span, [&found](UChar32 c, size_t, size_t) {
    found = u_isalpha(c) && !u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
    return !found;
  });
  return found;
}

bool HasTab(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin).find('\t') != std::string_view::npos;
}

bool IsBullet(UChar32 c) {
  return c == '-' || c == '*' || c == '+' || c == '>' || c == '#' || c == 0x2022 || c == 0x2023 || c == 0x25aa ||
         c == 0x25cf || c == 0x25e6 || c == 0x2013 || c == 0x2014 || c == 0xb7;
}

// The end of a marker at the beginning of `content`: bullets such as "- ", "> > " and "## ", or a number such as
// "12. ", "3) " or "(4) "; content.begin if there is none. A space must follow.
size_t MarkerEnd(std::string_view text, Span content) {
  size_t marker_end = content.begin;
  bool bulleted = false, numbered = false;
  UChar32 last = 0;
  ForEachCharacter(text, content, [&](UChar32 c, size_t begin, size_t) {
    const bool complete = bulleted || (numbered && (last == '.' || last == ')'));
    if (IsSegmentSpace(c) && complete) marker_end = begin;
    if (IsSegmentSpace(c)) return bulleted;  // a bullet may be followed by another marker ("> > "), a number may not
    if (IsBullet(c) && !numbered && (last == 0 || bulleted)) {
      bulleted = true;
    } else if (((c >= '0' && c <= '9') || c == '.' || c == '(' || c == ')') && !bulleted) {
      numbered = numbered || u_isdigit(c);
    } else {
      return false;
    }
    last = c;
    return true;
  });
  return marker_end;
}

int32_t CountCharacters(std::string_view text, Span span) {
  int32_t count = 0;
  ForEachCharacter(text, span, [&count](UChar32, size_t, size_t) { return ++count, true; });
  return count;
}

Line MakeLine(std::string_view text, Span span, bool look_for_marker) {
  Line line;
  line.content = Trim(text, span);
  line.indent = CountCharacters(text, {span.begin, line.content.begin});
  line.width = line.indent + CountCharacters(text, line.content);
  if (look_for_marker) {
    const size_t marker_end = MarkerEnd(text, line.content);
    line.has_marker = marker_end != line.content.begin;
    if (line.has_marker) line.content = Trim(text, {marker_end, line.content.end});
  }
  ForEachCharacter(text, line.content,
                   [&line](UChar32 c, size_t, size_t) { return !IsSegmentSpace(c) && ++line.first_word; });
  return line;
}

// The document's lines, without the empty ones.
std::vector<Line> MakeLines(std::string_view text, bool look_for_markers) {
  std::vector<Line> lines;
  bool after_empty = true;
  const auto add = [&](Span span) {
    Line line = MakeLine(text, span, look_for_markers);
    if (line.content.empty() && !line.has_marker) {
      after_empty = true;
      return;
    }
    line.after_empty = after_empty;
    after_empty = false;
    lines.push_back(line);
  };
  size_t start = 0;
  bool after_return = false;
  ForEachCharacter(text, {0, text.size()}, [&](UChar32 c, size_t begin, size_t end) {
    if (c == '\n' && after_return) {  // the second half of one line break
      start = end;
    } else if (IsLineBreak(c)) {
      add({start, begin});
      start = end;
    }
    after_return = c == '\r';
    return true;
  });
  if (start < text.size()) add({start, text.size()});
  return lines;
}

// Chinese and Japanese put no space between words, so a line break between them cannot become a space.
bool EndsWithoutSpaces(std::string_view text, Span content) {
  UChar32 last = 0;
  ForEachCharacter(text, content, [&last](UChar32 c, size_t, size_t) { return last = c, true; });
  return u_hasBinaryProperty(last, UCHAR_IDEOGRAPHIC) || (last >= 0x3000 && last <= 0x30ff) || last >= 0xff00;
}

bool StartsLowerCase(std::string_view text, Span content) {
  bool lower = false;
  ForEachCharacter(text, content, [&lower](UChar32 c, size_t, size_t) { return lower = u_islower(c), false; });
  return lower;
}

struct Block {
  size_t first = 0, end = 0;  // lines
  size_t size() const { return end - first; }
};

int32_t Margin(const std::vector<Line>& lines, const Block& block) {
  int32_t margin = 0;
  for (size_t i = block.first; i < block.end; ++i) margin = std::max(margin, lines[i].width);
  return margin;
}

// Whether the lines are one hard-wrapped paragraph. `usual_margin`: the margin of the document's longer paragraphs; 0
// if it has none.
bool IsWrapped(std::string_view text, const std::vector<Line>& lines, const Block& block, int32_t usual_margin) {
  const int32_t margin = Margin(lines, block);
  if (margin > kMostWrapped) return false;
  const auto had_no_room = [&lines](size_t i, int32_t up_to) {
    return lines[i].width + 1 + lines[i + 1].first_word + kWrapSlack > up_to;
  };
  for (size_t i = block.first; i + 1 < block.end; ++i) {
    const bool is_long = lines[i].width - lines[i].indent >= kLeastWrapped;
    if (!is_long || !had_no_room(i, margin) || EndsWithoutSpaces(text, lines[i].content)) return false;
    if (HasTab(text, lines[i + 1].content)) return false;
  }
  if (block.size() != 2 || StartsLowerCase(text, lines[block.first + 1].content)) return true;
  return usual_margin > 0 && had_no_room(block.first, usual_margin);
}

// Runs of lines: no empty line between them, and a marker only on the first.
std::vector<Block> MakeRuns(const std::vector<Line>& lines) {
  std::vector<Block> runs;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (runs.empty() || lines[i].after_empty || lines[i].has_marker) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

// Blocks: wrapped paragraphs, and every other line alone. The first line of a run may be the heading of a paragraph.
std::vector<Block> MakeBlocks(std::string_view text, const std::vector<Line>& lines) {
  const std::vector<Block> runs = MakeRuns(lines);
  int32_t usual_margin = 0;
  for (const Block& run : runs) {
    if (run.size() > 2 && IsWrapped(text, lines, run, 0)) usual_margin = std::max(usual_margin, Margin(lines, run));
  }
  std::vector<Block> blocks;
  for (const Block& run : runs) {
    Block paragraph = run;
    if (!IsWrapped(text, lines, paragraph, usual_margin)) ++paragraph.first;
    if (paragraph.size() < 2 || !IsWrapped(text, lines, paragraph, usual_margin)) paragraph.first = run.end;
    for (size_t i = run.first; i < paragraph.first; ++i) blocks.push_back({i, i + 1});
    if (paragraph.size() > 0) blocks.push_back(paragraph);
  }
  return blocks;
}

// ICU's sentence iterator over spans of one text.
class SentenceCutter {
 public:
  // That of the calling thread, which is kept for its next call. A text of a few words is cut in less time than an
  // iterator is made, and a document of units is cut unit by unit.
  static absl::StatusOr<SentenceCutter*> OfThread(const std::string& language) {
    thread_local std::optional<SentenceCutter> cutter;
    if (!cutter.has_value() || cutter->language_ != language) {
      absl::StatusOr<SentenceCutter> made = Create(language);
      if (!made.ok()) return made.status();
      cutter = *std::move(made);
    }
    return &*cutter;
  }

  // Cuts a span into sentences without gaps. Offsets are relative to `text`.
  std::vector<Span> Cut(std::string_view text, Span span) {
    std::vector<Span> sentences;
    const std::string_view part = text.substr(span.begin, span.end - span.begin);
    UErrorCode error = U_ZERO_ERROR;
    UText* source = utext_openUTF8(text_.get(), part.data(), static_cast<int64_t>(part.size()), &error);
    if (text_ == nullptr) text_.reset(source);
    iterator_->setText(source, error);
    if (U_FAILURE(error)) return {span};
    size_t begin = 0;
    iterator_->first();
    for (int32_t at = iterator_->next(); at != icu::BreakIterator::DONE; at = iterator_->next()) {
      const size_t end = static_cast<size_t>(at);
      if (end < part.size() && IsFalseSentenceBoundary(part, end, language_)) continue;
      sentences.push_back({span.begin + begin, span.begin + end});
      begin = end;
    }
    return sentences;
  }

 private:
  SentenceCutter(std::unique_ptr<icu::BreakIterator> iterator, std::string language)
      : iterator_(std::move(iterator)), language_(std::move(language)) {}

  static absl::StatusOr<SentenceCutter> Create(const std::string& language) {
    UErrorCode error = U_ZERO_ERROR;
    icu::Locale locale = icu::Locale::forLanguageTag(language, error);
    if (U_FAILURE(error) || locale.isBogus()) locale = icu::Locale::getRoot();
    error = U_ZERO_ERROR;
    std::unique_ptr<icu::BreakIterator> iterator(icu::BreakIterator::createSentenceInstance(locale, error));
    if (U_FAILURE(error)) {
      return absl::InternalError(absl::StrCat("ICU has no sentence boundaries: ", u_errorName(error)));
    }
    return SentenceCutter(std::move(iterator), language);
  }

  struct Close {
    void operator()(UText* text) const { utext_close(text); }
  };
  std::unique_ptr<icu::BreakIterator> iterator_;
  std::unique_ptr<UText, Close> text_;  // reused from call to call
  std::string language_;
};

// Replaces every run of white space that contains a line break with one space.
std::string Unwrap(std::string_view text) {
  std::string unwrapped;
  size_t run_begin = 0;
  bool in_run = false, has_break = false;
  const auto close_run = [&](size_t end) {
    if (in_run) unwrapped.append(has_break ? std::string_view(" ") : text.substr(run_begin, end - run_begin));
    in_run = has_break = false;
  };
  ForEachCharacter(text, {0, text.size()}, [&](UChar32 c, size_t begin, size_t end) {
    if (!IsSegmentSpace(c)) {
      close_run(begin);
      unwrapped.append(text.substr(begin, end - begin));
      return true;
    }
    if (!in_run) run_begin = begin;
    in_run = true;
    has_break = has_break || IsLineBreak(c);
    return true;
  });
  close_run(text.size());
  return unwrapped;
}

// Collects segments in order. The text between them becomes glue.
class Segmenter {
 public:
  explicit Segmenter(std::string_view text) : text_(text) {}

  void Add(Span span, bool starts_paragraph, bool wrapped) {
    span = Trim(text_, span);
    pending_paragraph_ = pending_paragraph_ || starts_paragraph;
    if (full() || !HasLetter(text_, span)) return;
    const std::string_view text = text_.substr(span.begin, span.end - span.begin);
    document_.segments.push_back({std::string(text_.substr(done_, span.begin - done_)),
                                  wrapped ? Unwrap(text) : std::string(text), pending_paragraph_});
    pending_paragraph_ = false;
    done_ = span.end;
  }

  absl::StatusOr<SegmentedDocument> Finish() {
    if (full()) {
      return absl::InvalidArgumentError(
          absl::StrCat("document.text has more than ", kMaxSegments, " segments; split the document"));
    }
    document_.tail = text_.substr(done_);
    return std::move(document_);
  }
  bool full() const { return document_.segments.size() > kMaxSegments; }

 private:
  const std::string_view text_;
  SegmentedDocument document_;
  size_t done_ = 0;                 // bytes that segments and their glue cover
  bool pending_paragraph_ = false;  // a paragraph has begun; none of its segments has yet
};

// Overwrites line breaks within a wrapped paragraph with spaces, for ICU. Offsets stay the same.
void ReplaceBreaksWithSpaces(Span span, std::string& text) {
  ForEachCharacter(text, span, [&text](UChar32 c, size_t begin, size_t end) {
    if (IsLineBreak(c)) std::fill(text.begin() + begin, text.begin() + end, ' ');
    return true;
  });
}

}  // namespace

bool IsWide(char32_t c) {
  const int width = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

bool EndsWide(std::string_view text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  for (auto at = static_cast<int32_t>(text.size()); at > 0;) {
    UChar32 c;
    U8_PREV(bytes, 0, at, c);
    if (IsWide(static_cast<char32_t>(c))) return true;
    if (u_charType(c) != U_FINAL_PUNCTUATION && u_charType(c) != U_END_PUNCTUATION) return false;
  }
  return false;
}

bool IsSegmentSpace(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) || c == 0xfeff || c == 0x200b; }

absl::StatusOr<SegmentedDocument> SplitDocument(std::string_view text, Segmentation segmentation,
                                                const std::string& language) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("document.text has ", text.size(), " bytes; at most ", kMaxBytes, " are possible"));
  }
  if (const std::optional<size_t> invalid = FirstInvalidText(text); invalid.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "document.text: byte ", *invalid,
        text[*invalid] == '\0' ? " is NUL; send plain text" : " begins no valid UTF-8 character; send UTF-8"));
  }
  const bool sentences = segmentation == Segmentation::kSentences;
  const std::vector<Line> lines = MakeLines(text, sentences);
  Segmenter segmenter(text);
  if (!sentences) {
    for (const Line& line : lines) segmenter.Add(line.content, line.after_empty, false);
    return segmenter.Finish();
  }
  const absl::StatusOr<SentenceCutter*> cutter = SentenceCutter::OfThread(language);
  if (!cutter.ok()) return cutter.status();
  std::string seen(text);
  for (const auto& [first, end] : MakeBlocks(text, lines)) {
    const Span block{lines[first].content.begin, lines[end - 1].content.end};
    const bool wrapped = end - first > 1;
    if (wrapped) ReplaceBreaksWithSpaces(block, seen);
    bool starts_paragraph = lines[first].after_empty;
    if (!HasLetter(text, block)) {
      segmenter.Add({block.begin, block.begin}, starts_paragraph, false);
    } else {
      const size_t columns_end = lines[first].content.end;  // tabs after it indent wrapped lines
      for (const Span& sentence : (*cutter)->Cut(seen, block)) {
        size_t begin = sentence.begin;
        for (size_t at = begin; at < std::min(sentence.end, columns_end); ++at) {
          if (text[at] != '\t') continue;
          segmenter.Add({begin, at}, starts_paragraph, wrapped);
          starts_paragraph = false;
          begin = at + 1;
        }
        segmenter.Add({begin, sentence.end}, starts_paragraph, wrapped);
        starts_paragraph = false;
      }
    }
  }
  return segmenter.Finish();
}

std::string JoinDocument(const SegmentedDocument& document, const std::vector<std::string>& translations,
                         std::vector<size_t>* begins) {
  std::string text;
  for (size_t i = 0; i < document.segments.size(); ++i) {
    text.append(document.segments[i].glue);
    if (i > 0 && i < translations.size() && document.segments[i].glue.empty() && !translations[i - 1].empty() &&
        !translations[i].empty() && EndsWide(document.segments[i - 1].text) && !EndsWide(translations[i - 1])) {
      text.push_back(' ');
    }
    if (begins != nullptr) begins->push_back(text.size());
    if (i < translations.size()) text.append(translations[i]);
  }
  text.append(document.tail);
  return text;
}

}  // namespace salient
