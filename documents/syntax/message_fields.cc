#include "documents/syntax/message_fields.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "documents/ascii.h"

namespace salient {
namespace {

constexpr size_t kLongestField = 100;  // bytes of a replacement field

// Reads a text from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ == text_.size(); }
  bool Sees(std::string_view set) const { return !AtEnd() && IsOneOf(text_[at_], set); }
  char Next() { return text_[at_++]; }

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

bool IsNameByte(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

// Takes the name of a field, which may be empty; false if it is malformed.
bool TakeName(Scanner& scanner) {
  if (scanner.TakeWhile(IsNameByte).empty()) return true;
  while (scanner.Sees(".[")) {
    if (scanner.Next() == '.') {
      if (scanner.TakeWhile(IsNameByte).empty()) return false;
      continue;
    }
    const auto is_index = [](char c) { return !IsOneOf(c, "[]{}\n"); };
    if (scanner.TakeWhile(is_index).empty() || !scanner.Take(']')) return false;
  }
  return true;
}

// Takes a format specification up to the brace that closes its field; false if that brace is missing.
bool TakeSpec(Scanner& scanner) {
  for (int depth = 0; !scanner.AtEnd() && !scanner.Sees("\n");) {
    if (depth == 0 && scanner.Sees("}")) return true;
    const char c = scanner.Next();
    if (c == '{' && ++depth > 1) return false;
    if (c == '}') --depth;
  }
  return false;
}

bool HasSpace(std::string_view text) { return std::any_of(text.begin(), text.end(), IsSpace); }

// Whether a specification has a directive of strftime, such as "%Y" or "%-d".
bool HasDateDirective(std::string_view spec) {
  for (size_t i = spec.find('%'); i != std::string_view::npos; i = spec.find('%', i + 1)) {
    const std::string_view rest = spec.substr(i + 1);
    const size_t letter = rest.find_first_not_of("-_0^#");
    if (letter != std::string_view::npos && IsLetter(rest[letter])) return true;
  }
  return false;
}

// Whether the white space of a specification is such that it can be no prose. `name` is the field's.
bool HasAllowedSpace(std::string_view name, std::string_view spec) {
  if (!HasSpace(spec) || HasDateDirective(spec)) return true;
  if (spec[0] == ' ') {  // the fill before an alignment, or the sign before width and type
    const std::string_view rest = spec.substr(1);
    return !HasSpace(rest) && (rest.size() <= 1 || IsOneOf(rest[0], "<>=^0123456789.,#{"));
  }
  return !name.empty() && IsDigit(name[0]);
}

}  // namespace

size_t ReplacementFieldEnd(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at, kLongestField);
  Scanner scanner(rest);
  if (!scanner.Take('{') || !TakeName(scanner)) return at;
  const std::string_view name = rest.substr(1, scanner.at() - 1);
  if (scanner.Take('!')) {
    if (!scanner.Sees("rsa")) return at;
    scanner.Next();
  }
  if (scanner.Take(':')) {
    const size_t begin = scanner.at();
    if (!TakeSpec(scanner) || !HasAllowedSpace(name, rest.substr(begin, scanner.at() - begin))) return at;
  }
  return scanner.Take('}') ? at + scanner.at() : at;
}

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
