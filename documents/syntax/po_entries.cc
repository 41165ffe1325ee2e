#include "documents/syntax/po_entries.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/input.h"

namespace salient {
namespace {

constexpr size_t kMostForms = 16;  // of a plural; no language of gettext has more than six

class EntryReader {
 public:
  explicit EntryReader(std::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<std::vector<PoEntry>> Read() {
    for (size_t begin = ByteOrderMark(bytes_); begin < bytes_.size(); ++line_) {
      const size_t end = std::min(bytes_.find('\n', begin), bytes_.size());
      if (absl::Status status = TakeLine(begin, end); !status.ok()) return status;
      begin = end + 1;
    }
    FinishEntry();
    return std::move(entries_);
  }

 private:
  absl::Status Wrong(std::string_view reason) const {
    return absl::InvalidArgumentError(absl::StrCat("PO: line ", line_, " ", std::string(reason)));
  }

  absl::Status TakeLine(size_t begin, size_t end) {
    const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (begin < end && is_space(bytes_[begin])) ++begin;
    while (end > begin && is_space(bytes_[end - 1])) --end;
    const std::string_view line = bytes_.substr(begin, end - begin);
    if (line.empty() || line[0] == '#') {
      if (!entry_.translations.empty()) FinishEntry();
      current_ = nullptr;
      if (line.starts_with("#~")) entry_.fuzzy = false;  // the flags were those of an obsolete message
      entry_.fuzzy = entry_.fuzzy || (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos);
      return absl::OkStatus();
    }
    if (line[0] == '"') {
      if (current_ == nullptr) return Wrong("is a string that belongs to no keyword");
      return TakeString(begin, end);
    }
    const size_t keyword_end = std::min(line.find_first_of(" \t\""), line.size());
    if (!TakeKeyword(line.substr(0, keyword_end))) {
      return Wrong("begins with no keyword that PO files have, such as msgid or msgstr");
    }
    if (entry_.translations.size() > kMostForms) {
      return Wrong(absl::StrCat("is one of more than ", kMostForms, " translations of a message"));
    }
    *current_ = {};
    size_t quote = begin + keyword_end;
    while (quote < end && is_space(bytes_[quote])) ++quote;
    return TakeString(quote, end);
  }

  bool TakeKeyword(std::string_view keyword) {
    if ((keyword == "msgctxt" || keyword == "msgid") && !entry_.translations.empty()) FinishEntry();
    if (keyword == "msgctxt") {
      current_ = &entry_.context;
    } else if (keyword == "msgid") {
      current_ = &entry_.id;
    } else if (keyword == "msgid_plural") {
      current_ = &entry_.plural;
    } else if (keyword == "msgstr" || keyword.starts_with("msgstr[")) {
      entry_.translations.emplace_back();
      current_ = &entry_.translations.back();
    } else if (keyword == "domain") {
      current_ = &domain_;
    } else {
      return false;
    }
    return true;
  }

  absl::Status TakeString(size_t begin, size_t end) {
    if (end - begin < 2 || bytes_[begin] != '"' || bytes_[end - 1] != '"') {
      return Wrong("has no string in quotation marks");
    }
    PoString& string = *current_;
    if (!string.is_there()) string.range.begin = begin;
    string.range.end = end;
    for (size_t i = begin + 1; i < end - 1; ++i) {
      char c = bytes_[i];
      if (c == '"') return Wrong("has a quotation mark within a string; write \\\"");
      if (c == '\\') {
        if (++i == end - 1) return Wrong("ends in a backslash; the string is not closed");
        const std::string_view rest = bytes_.substr(i, end - 1 - i);
        const size_t escape = kPoEscapes.find(rest[0]);
        c = escape == std::string_view::npos ? rest[0] : kPoMeanings[escape];
        if (const size_t digits = CountDigits(rest, "01234567", 3); digits > 0) {
          c = static_cast<char>(std::stoi(std::string(rest.substr(0, digits)), nullptr, 8));
          i += digits - 1;
        } else if (const size_t hex = CountDigits(rest.substr(1), "0123456789abcdefABCDEF", 2);
                   rest[0] == 'x' && hex > 0) {
          c = static_cast<char>(std::stoi(std::string(rest.substr(1, hex)), nullptr, 16));
          i += hex;
        }
      }
      string.value.push_back(c);
    }
    return absl::OkStatus();
  }

  // Digits of an escaped byte, such as \101 or \x41.
  static size_t CountDigits(std::string_view text, std::string_view digits, size_t most) {
    return std::min({most, text.size(), text.find_first_not_of(digits)});
  }

  void FinishEntry() {
    if (entry_.id.is_there()) entries_.push_back(std::move(entry_));
    entry_ = {};
    current_ = nullptr;
  }

  const std::string_view bytes_;
  std::vector<PoEntry> entries_;
  PoEntry entry_;
  PoString domain_;
  PoString* current_ = nullptr;  // which string is being read
  size_t line_ = 1;
};

}  // namespace

absl::StatusOr<std::vector<PoEntry>> ReadPoEntries(std::string_view bytes, const DocumentLimits& limits) {
  if (absl::Status status = CheckText(bytes, "PO", limits); !status.ok()) return status;
  return EntryReader(bytes).Read();
}

std::optional<char> AcceleratorMark(const std::vector<PoEntry>& entries) {
  constexpr std::string_view kField = "X-Accelerator-Marker:";
  for (const PoEntry& entry : entries) {
    if (!entry.id.value.empty() || entry.translations.empty()) continue;
    for (std::string_view rest = entry.translations[0].value; !rest.empty();) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (!line.starts_with(kField)) continue;
      line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ', kField.size())));
      if (line.size() > 0 && absl::ascii_ispunct(static_cast<unsigned char>(line[0]))) return line[0];
    }
  }
  return std::nullopt;
}

}  // namespace salient
