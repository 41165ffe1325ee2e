#include "documents/message_fields.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace salient {
namespace {

constexpr size_t kLongestField = 100;  // bytes of what is read of a field to know it

bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

// Reads a text from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }

  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // Takes characters as long as `accepts` does; returns them.
  template <typename Accepts>
  std::string_view TakeWhile(Accepts accepts) {
    const size_t begin = at_;
    while (!AtEnd() && accepts(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  const std::string_view text_;
  size_t at_ = 0;
};

bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsNameByte(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

}  // namespace

size_t MessageArguments::End(size_t at) {
  if (!BeginsAt(at)) return at;
  if (!matched_) MatchBraces(at);
  return end_[at] > 0 ? end_[at] : at;
}

// Whether "{name, type," begins here, with the name of a type that takes a style.
bool MessageArguments::BeginsAt(size_t at) const {
  constexpr std::string_view kTypes[] = {"plural", "select", "selectordinal", "choice",  "number",
                                         "date",   "time",   "spellout",      "ordinal", "duration"};
  Scanner scanner(text_.substr(at, kLongestField));
  if (!scanner.Take('{')) return false;
  scanner.TakeWhile(IsSpace);
  if (scanner.TakeWhile(IsNameByte).empty()) return false;
  scanner.TakeWhile(IsSpace);
  if (!scanner.Take(',')) return false;
  scanner.TakeWhile(IsSpace);
  const std::string_view type = scanner.TakeWhile(IsLetter);
  scanner.TakeWhile(IsSpace);
  return scanner.Take(',') && std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

// Finds the ends of all braces from the first argument on.
void MessageArguments::MatchBraces(size_t begin) {
  matched_ = true;
  end_.assign(text_.size(), 0);
  std::vector<size_t> open;
  bool quoted = false;
  for (size_t i = begin; i < text_.size(); ++i) {
    const char c = text_[i], next = i + 1 < text_.size() ? text_[i + 1] : '\0';
    if (c == '\'' && next == '\'') {
      ++i;  // an apostrophe
    } else if (c == '\'') {
      quoted = !quoted && next != '\0' && IsOneOf(next, "{}#|");
    } else if (!quoted && c == '{') {
      open.push_back(i);
    } else if (!quoted && c == '}' && !open.empty()) {
      end_[open.back()] = i + 1;
      open.pop_back();
    }
  }
}

}  // namespace salient
