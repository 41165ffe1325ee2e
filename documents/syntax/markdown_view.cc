#include "documents/syntax/markdown_view.h"

#include <algorithm>
#include <optional>

#include "documents/ascii.h"
#include "documents/characters.h"

namespace salient {
namespace {

// The content of a list item that has no text: md4c takes no indented text for a part of an item that is empty.
constexpr std::string_view kNoText = "<!-- -->";

std::string_view WithoutSpaceAtEnd(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool IsWholly(std::string_view line, std::string_view open, std::string_view close) {
  return line.size() >= open.size() + close.size() && line.starts_with(open) && line.ends_with(close) &&
         line.find(close, open.size()) == line.size() - close.size();
}

// A line that stands by itself, whatever is before and after it.
bool IsLineOfItsOwn(std::string_view line) {
  return line.starts_with(":::") || IsWholly(line, "{:", "}") || IsWholly(line, "{%", "%}") ||
         IsWholly(line, "{{<", ">}}") || IsWholly(line, "{{%", "%}}");
}

// The length of "[!NOTE]", with the sign of Obsidian that folds what follows; 0: there is none.
size_t AlertLength(std::string_view line) {
  if (!line.starts_with("[!")) return 0;
  size_t i = 2;
  while (i < line.size() && (IsLetter(line[i]) || line[i] == '-')) ++i;
  if (i == 2 || i >= line.size() || line[i++] != ']') return 0;
  if (i < line.size() && IsOneOf(line[i], "+-")) ++i;
  return i == line.size() || line[i] == ' ' ? i : 0;
}

// The length of "[^label]:" and of the white space after it; 0: there is none.
size_t FootnoteLength(std::string_view line) {
  if (!line.starts_with("[^")) return 0;
  const size_t close = line.find_first_of("] \t", 2);
  if (close == std::string_view::npos || close == 2 || !line.substr(close).starts_with("]:")) return 0;
  return std::min(line.find_first_not_of(" \t", close + 2), line.size());
}

// The title in quotes of an admonition or a tab, which is empty if there is none; nothing if the line is neither.
std::optional<ByteRange> AdmonitionTitle(std::string_view line) {
  const size_t space = line.find(' ');
  const std::string_view sign = line.substr(0, space);
  const bool is_tab = IsOneOf(sign, {"===", "===!", "===+"});
  if (space == std::string_view::npos || (!is_tab && !IsOneOf(sign, {"!!!", "???", "???+"}))) return std::nullopt;
  const std::string_view rest = line.substr(space + 1);
  const bool has_type = !rest.empty() && IsLetter(rest[0]);
  const size_t quote = line.find('"');
  if (is_tab == has_type || (is_tab && quote != space + 1)) return std::nullopt;
  if (quote == std::string_view::npos) return ByteRange{line.size(), line.size()};
  if (line.back() != '"' || quote + 1 == line.size()) return std::nullopt;
  return ByteRange{quote + 1, line.size() - 1};
}

// Whether a line is one of "=", "---", "```", "***", "|---|" and similar.
bool HasSignsOnly(std::string_view line) {
  return !line.empty() && line.find_first_not_of("=-+*_`~|: \t") == std::string_view::npos;
}

// Whether a line is "|---|:-:|": cells of dashes, which may have a colon at each end.
bool IsDelimiterRow(std::string_view line) {
  if (line.find('|') == std::string_view::npos || line.find_first_not_of("|-: \t") != std::string_view::npos) {
    return false;
  }
  if (line.starts_with("- ")) return false;  // an item of a list
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  for (bool last = false; !last;) {
    const size_t end = line.find('|');
    last = end == std::string_view::npos;
    std::string_view cell = WithoutSpaceAtEnd(line.substr(0, end));
    cell.remove_prefix(std::min(cell.find_first_not_of(" \t"), cell.size()));
    if (cell.starts_with(':')) cell.remove_prefix(1);
    if (cell.ends_with(':')) cell.remove_suffix(1);
    if (cell.empty() || cell.find_first_not_of('-') != std::string_view::npos) return false;
    if (!last) line.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

// Reads a document line by line.
class MarkdownView::Builder {
 public:
  Builder(std::string_view document, MarkdownView* view) : document_(document), view_(*view) {}

  void Build(size_t begin) {
    Show({0, begin});
    for (Line line = LineAt(begin); line.begin < document_.size(); line = LineAt(line.next)) {
      TakeLine(line);
      ShowBreak(line);
    }
  }

 private:
  struct Line {
    size_t begin = 0, end = 0, next = 0;
    size_t break_begin = 0;  // of the line break; `end`, but for a line of signs without the white space at its end
    size_t first = 0;        // of the text, behind white space
    size_t unquoted = 0;     // the same, behind signs of quotations, too
    std::string_view text;   // from `first` on, without white space at the end
    std::string_view unquoted_text;
  };

  Line LineAt(size_t begin) const {
    Line line;
    line.begin = std::min(begin, document_.size());
    line.end = line.break_begin = std::min(document_.find_first_of("\r\n", line.begin), document_.size());
    line.next = std::min(line.end + (document_.substr(line.end).starts_with("\r\n") ? 2 : 1), document_.size());
    const std::string_view text = document_.substr(0, line.end);
    line.first = std::min(text.find_first_not_of(" \t", line.begin), line.end);
    line.unquoted = std::min(text.find_first_not_of(" \t>", line.begin), line.end);
    line.text = WithoutSpaceAtEnd(text.substr(line.first));
    line.unquoted_text = WithoutSpaceAtEnd(text.substr(line.unquoted));
    if (HasSignsOnly(line.unquoted_text)) line.end = line.unquoted + line.unquoted_text.size();
    return line;
  }

  void TakeLine(const Line& line) {
    if (TakeCode(line)) return Show({line.begin, line.end});
    if (TakeMath(line)) return;
    in_table_ = in_table_ && !line.unquoted_text.empty();
    in_tag_ = in_tag_ && !line.unquoted_text.empty();
    const bool hides = line.text.starts_with(":::") || (!in_table_ && !in_tag_ && IsLineOfItsOwn(line.unquoted_text));
    const bool is_quoted = line.unquoted > line.first;
    // What is indented by four spaces goes on with the text before, and an alert begins a quotation.
    const std::string_view indentation = document_.substr(line.begin, line.first - line.begin);
    const bool goes_on = after_text_ && (indentation.size() >= 4 || indentation.find('\t') != std::string_view::npos);
    const bool may_alert = is_quoted && !goes_on && !(after_text_ && after_quoted_);
    const size_t alert = may_alert ? AlertLength(line.unquoted_text) : 0;
    const size_t footnote = goes_on ? 0 : FootnoteLength(line.text);
    after_quoted_ = is_quoted || (after_quoted_ && after_text_);
    if (hides) {
      HideLine(line);
    } else if (alert > 0) {
      TakeAlert(line, alert);
    } else if (footnote > 0) {
      BeginItem(line, {line.first + footnote, line.end});
      after_text_ = true;
    } else if (const std::optional<ByteRange> title = AdmonitionTitle(line.text); title.has_value() && !after_text_) {
      BeginItem(line, {line.first + title->begin, line.first + title->end});
      AddEmptyLine(line);
    } else {
      TakeText(line);
    }
  }

  void TakeText(const Line& line) {
    if (in_delimiter_row_) {
      ShowDelimiterRow(line);
      in_delimiter_row_ = false;
      in_table_ = true;
      return;
    }
    const bool begins_table =
        !in_table_ && line.text.find('|') != std::string_view::npos && IsDelimiterRow(LineAt(line.next).unquoted_text);
    if (begins_table) EndParagraph(line);
    in_delimiter_row_ = begins_table;
    if (after_text_ && line.text.starts_with(": ")) {
      Show({line.begin, line.first});
      Hide({line.first, line.first + 1});
      Show({line.first + 1, line.end});
    } else {
      Show({line.begin, line.end});
    }
    after_text_ = line.first < line.end;
    const size_t bracket = line.text.find_last_of("<>");
    if (bracket != std::string_view::npos) in_tag_ = line.text[bracket] == '<';
  }

  // Whether a line is one of a fenced block of code.
  bool TakeCode(const Line& line) {
    const char c = line.unquoted_text.empty() ? '\0' : line.unquoted_text[0];
    const size_t length = std::min(line.unquoted_text.find_first_not_of(c), line.unquoted_text.size());
    if (fence_ > 0) {
      if (c == fence_sign_ && length >= fence_ && length == line.unquoted_text.size()) fence_ = 0;
      return true;
    }
    if (length < 3 || !IsOneOf(c, "`~")) return false;
    if (c == '`' && line.unquoted_text.find('`', length) != std::string_view::npos) return false;
    fence_ = length;
    fence_sign_ = c;
    after_text_ = in_table_ = false;
    return true;
  }

  // Hides a line of display math, which has no blank lines.
  bool TakeMath(const Line& line) {
    if (line.begin >= math_end_) {
      if (line.begin < no_math_end_) return false;
      const std::string_view text = line.unquoted_text;
      if (!text.starts_with("$$") || text.find("$$", 2) != std::string_view::npos) return false;
      Line last = LineAt(line.next);
      while (!last.unquoted_text.empty() && !last.unquoted_text.ends_with("$$")) last = LineAt(last.next);
      if (last.unquoted_text.empty()) {
        no_math_end_ = last.begin;
        return false;
      }
      math_end_ = last.next;
    }
    HideLine(line);
    return true;
  }

  // The title behind the sign is a paragraph of its own.
  void TakeAlert(const Line& line, size_t length) {
    const size_t title = std::min(document_.find_first_not_of(" \t", line.unquoted + length), line.end);
    EndParagraph(line);
    Show({line.begin, line.unquoted});
    Show({title, line.end});
    if (title < line.end) AddEmptyLine(line);
    after_text_ = false;
  }

  void HideLine(const Line& line) {
    Show({line.begin, line.unquoted});
    Hide({line.unquoted, line.end});
    after_text_ = false;
  }

  // Shows a line as the first of a list item with the text in `text`. What belongs to it is indented by four spaces.
  void BeginItem(const Line& line, ByteRange text) {
    Show({line.begin, line.first});
    Add(line.first, "-   ");
    if (IsBlank(document_.substr(text.begin, text.end - text.begin))) Add(line.first, kNoText);
    Show(text);
    after_text_ = false;
  }

  void ShowDelimiterRow(const Line& line) {
    for (size_t at = line.begin; at < line.end;) {
      const size_t end = std::min(document_.find_first_not_of('-', at), line.end);
      Show({at, std::max(end, at + 1)});
      if (end > at) Add(end, std::string_view("--").substr(0, 3 - std::min<size_t>(end - at, 3)));
      at = std::max(end, at + 1);
    }
  }

  // Copies the line break, and white space before it that is left.
  void ShowBreak(const Line& line) {
    ShowSpaces({line.end, line.break_begin});
    Show({line.break_begin, line.next});
  }

  // Adds an empty line before the line, whose text begins something else.
  void EndParagraph(const Line& line) {
    if (!after_text_) return;
    Add(line.begin, document_.substr(line.begin, line.unquoted - line.begin));
    Add(line.begin, "\n");
  }

  // Adds an empty line after the line, with the same signs of quotations.
  void AddEmptyLine(const Line& line) {
    Add(line.end, "\n");
    Add(line.end, document_.substr(line.begin, line.unquoted - line.begin));
  }

  void Show(ByteRange range) {
    if (range.begin >= range.end) return;
    std::vector<Copy>& copies = view_.copies_;
    const size_t size = range.end - range.begin, at = view_.text_.size();
    const bool goes_on = !copies.empty() && copies.back().at + copies.back().size == at &&
                         copies.back().source + copies.back().size == range.begin;
    if (goes_on) {
      copies.back().size += size;
    } else {
      copies.push_back({at, range.begin, size});
    }
    view_.text_.append(document_, range.begin, size);
  }

  // Shows spaces instead.
  void Hide(ByteRange range) {
    if (range.begin >= range.end) return;
    view_.hidden_.push_back(range);
    ShowSpaces(range);
  }

  void ShowSpaces(ByteRange range) {
    if (range.begin >= range.end) return;
    view_.copies_.push_back({view_.text_.size(), range.begin, range.end - range.begin});
    view_.text_.append(range.end - range.begin, ' ');
  }

  // Adds text for what is at `source`.
  void Add(size_t source, std::string_view text) {
    if (text.empty()) return;
    view_.copies_.push_back({view_.text_.size(), source, 0});
    view_.text_.append(text);
  }

  const std::string_view document_;
  MarkdownView& view_;
  size_t fence_ = 0;  // length of the fence of the code that is being read; 0: none is
  char fence_sign_ = '\0';
  size_t math_end_ = 0;            // of display math
  size_t no_math_end_ = 0;         // what begins before this place has no end
  bool after_text_ = false;        // whether the line before has text
  bool after_quoted_ = false;      // whether this text is in a quotation
  bool in_delimiter_row_ = false;  // whether the line is one
  bool in_table_ = false;
  bool in_tag_ = false;  // whether a tag of HTML may go on
};

MarkdownView::MarkdownView(std::string_view document, size_t begin) { Builder(document, this).Build(begin); }

size_t MarkdownView::SourceOf(size_t at) const {
  const auto after = std::upper_bound(copies_.begin(), copies_.end(), at,
                                      [](size_t place, const Copy& copy) { return place < copy.at; });
  if (after == copies_.begin()) return at;
  const Copy& copy = *(after - 1);
  return copy.source + std::min(at - copy.at, copy.size);
}

ByteRange MarkdownView::SourceOf(ByteRange part) const {
  const size_t begin = SourceOf(part.begin);
  if (part.begin >= part.end) return {begin, begin};
  const size_t last = SourceOf(part.end - 1);
  return {begin, last == SourceOf(part.end) ? last : last + 1};  // the same: the last byte was added
}

bool MarkdownView::HidesIn(ByteRange range) const {
  const auto first = std::lower_bound(hidden_.begin(), hidden_.end(), range.begin,
                                      [](const ByteRange& hidden, size_t at) { return hidden.end <= at; });
  return first != hidden_.end() && first->begin < range.end;
}

}  // namespace salient
