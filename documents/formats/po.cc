// Messages of gettext: a message without a translation gets one. What is translated, the fuzzy and the obsolete stay.
//
// The lines are read here rather than by libgettextpo, which takes files only, ends the process where memory does, and
// writes every line anew.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/string_unit.h"

namespace salient {
namespace {

// A string of one or more quoted lines.
struct PoString {
  ByteRange range;    // from the first quotation mark to the last
  std::string value;  // escapes undone
};

std::string Quote(const std::string& value) {
  std::string quoted = "\"";
  for (size_t i = 0; i < value.size(); ++i) {
    switch (value[i]) {
      case '\n': quoted.append("\\n"); break;
      case '\t': quoted.append("\\t"); break;
      case '\r': quoted.append("\\r"); break;
      case '"': quoted.append("\\\""); break;
      case '\\': quoted.append("\\\\"); break;
      default: quoted.push_back(value[i]);
    }
    if (value[i] == '\n' && i + 1 < value.size()) quoted.append("\"\n\"");
  }
  quoted.push_back('"');
  const bool several = quoted.find("\"\n\"") != std::string::npos;
  return several ? absl::StrCat("\"\"\n", quoted) : quoted;
}

class PoReader {
 public:
  PoReader(std::string_view bytes, const ParseOptions& options) : bytes_(bytes), options_(options) {}

  ParsedDocument Read() {
    for (size_t begin = ByteOrderMark(bytes_); begin < bytes_.size(); ++line_) {
      const size_t end = std::min(bytes_.find('\n', begin), bytes_.size());
      if (absl::Status status = TakeLine(begin, end); !status.ok()) return status;
      begin = end + 1;
    }
    FinishEntry();
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  absl::Status Wrong(std::string_view reason) const {
    return absl::InvalidArgumentError(absl::StrCat("PO: line ", line_, " ", std::string(reason)));
  }

  absl::Status TakeLine(size_t begin, size_t end) {
    while (begin < end && (bytes_[begin] == ' ' || bytes_[begin] == '\t')) ++begin;
    while (end > begin && (bytes_[end - 1] == '\r' || bytes_[end - 1] == ' ' || bytes_[end - 1] == '\t')) --end;
    const std::string_view line = bytes_.substr(begin, end - begin);
    if (line.empty() || line[0] == '#') {
      if (!msgstrs_.empty()) FinishEntry();
      current_ = nullptr;
      return absl::OkStatus();
    }
    if (line[0] == '"') {
      if (current_ == nullptr) return Wrong("is a string that belongs to no keyword");
      return TakeString(begin, end);
    }
    const size_t keyword_end = std::min(line.find_first_of(" \t\""), line.size());
    const std::string_view keyword = line.substr(0, keyword_end);
    if ((keyword == "msgctxt" || keyword == "msgid") && !msgstrs_.empty()) FinishEntry();
    if (keyword == "msgctxt") {
      current_ = &context_;
    } else if (keyword == "msgid") {
      current_ = &msgid_;
    } else if (keyword == "msgid_plural") {
      current_ = &plural_;
    } else if (keyword == "msgstr" || keyword.starts_with("msgstr[")) {
      msgstrs_.emplace_back();
      current_ = &msgstrs_.back();
    } else if (keyword == "domain") {
      current_ = &domain_;
    } else {
      return Wrong("begins with no keyword that PO files have, such as msgid or msgstr");
    }
    *current_ = {};
    size_t quote = begin + keyword_end;
    while (quote < end && (bytes_[quote] == ' ' || bytes_[quote] == '\t')) ++quote;
    return TakeString(quote, end);
  }

  absl::Status TakeString(size_t begin, size_t end) {
    if (end - begin < 2 || bytes_[begin] != '"' || bytes_[end - 1] != '"') return Wrong("has no string in quotation marks");
    PoString& string = *current_;
    if (string.range.end == 0) string.range.begin = begin;
    string.range.end = end;
    for (size_t i = begin + 1; i < end - 1; ++i) {
      char c = bytes_[i];
      if (c == '"') return Wrong("has a quotation mark within a string; write \\\"");
      if (c == '\\') {
        if (++i == end - 1) return Wrong("ends in a backslash; the string is not closed");
        constexpr std::string_view kEscapes = "ntrabfv", kMeanings = "\n\t\r\a\b\f\v";
        const size_t escape = kEscapes.find(bytes_[i]);
        c = escape == std::string_view::npos ? bytes_[i] : kMeanings[escape];
      }
      string.value.push_back(c);
    }
    return absl::OkStatus();
  }

  void FinishEntry() {
    if (msgid_.value.empty() && msgid_.range.end > 0) {
      if (!msgstrs_.empty()) SetLanguage(msgstrs_[0]);
    } else {
      for (size_t i = 0; i < msgstrs_.size(); ++i) {
        if (msgstrs_[i].value.empty()) AddUnit(i > 0 && plural_.range.end > 0 ? plural_ : msgid_, msgstrs_[i]);
      }
    }
    context_ = msgid_ = plural_ = {};
    msgstrs_.clear();
    current_ = nullptr;
  }

  void AddUnit(const PoString& source, const PoString& target) {
    PlacedUnit unit;
    const std::string same(bytes_.substr(source.range.begin, source.range.end - source.range.begin));
    const auto encode = [same, value = source.value](const std::string& translation) {
      return translation == value ? same : Quote(translation);
    };
    if (!MakeStringUnit(source.value, target.range, options_.keep_terms, encode, &unit)) return;
    unit.always = true;
    units_.push_back(std::move(unit));
  }

  // The header's field, one of the lines in its string.
  void SetLanguage(const PoString& header) {
    constexpr std::string_view kField = "\"Language:";
    const size_t field = bytes_.substr(0, header.range.end).find(kField, header.range.begin);
    if (options_.target_language.empty() || field == std::string_view::npos) return;
    const size_t begin = field + kField.size(), end = bytes_.find_first_of("\\\"", begin);
    if (end == std::string_view::npos || end > header.range.end) return;
    std::string language = options_.target_language;
    for (char& c : language) c = c == '-' ? '_' : c;
    edits_.push_back({{begin, end}, absl::StrCat(" ", Quote(language).substr(1, language.size()))});
  }

  const std::string_view bytes_;
  const ParseOptions& options_;
  PoString context_, msgid_, plural_, domain_;
  std::vector<PoString> msgstrs_;
  PoString* current_ = nullptr;  // which of them is being read
  size_t line_ = 1;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

}  // namespace

ParsedDocument ParsePo(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "PO", options.limits); !status.ok()) return status;
  return PoReader(bytes, options).Read();
}

}  // namespace salient
