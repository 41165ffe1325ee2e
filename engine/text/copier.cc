#include "engine/text/copier.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace salient {
namespace {

constexpr size_t kMaxCharacterBytes = 64;  // a base and its marks; text may have any number of them
constexpr std::string_view kPunctuation = ".,;:!?";
// Words and symbols that a prefix is searched for. It is read for each of them, and a text may have a million.
constexpr size_t kMostSought = 1024;

struct Character {
  std::string_view bytes;  // with the marks that follow the base
  UChar32 base = 0;
  uint32_t category = 0;  // of the base; a mask, as ICU's U_GC_L_MASK

  bool is(uint32_t categories) const { return (category & categories) != 0; }
  bool is_word() const { return is(U_GC_L_MASK | U_GC_M_MASK | U_GC_ND_MASK); }
  bool is_space() const { return is(U_GC_Z_MASK | U_GC_CC_MASK); }
  bool is_invisible() const {
    return base >= 0xAD && u_hasBinaryProperty(base, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);  // the first is U+00AD
  }
};

// The character that begins at `from`, which is less than the text's size.
Character MarkedCharacterAt(std::string_view text, size_t from) {
  text = text.substr(from, kMaxCharacterBytes);
  Character character;
  int32_t end = 0;
  const auto size = static_cast<int32_t>(text.size());
  U8_NEXT(text.data(), end, size, character.base);
  character.category = U_GET_GC_MASK(character.base);
  for (int32_t next = end; next < size; end = next) {
    UChar32 mark = 0;
    U8_NEXT(text.data(), next, size, mark);
    if (mark < 0 || (U_GET_GC_MASK(mark) & U_GC_M_MASK) == 0) break;
  }
  character.bytes = text.substr(0, end);
  return character;
}

// What ASCII has in place of a quotation mark, a hyphen or a dash; null for other characters.
const char* InAscii(UChar32 c) {
  switch (c) {
    case U'\u2018':  // quotation marks
    case U'\u2019':
    case U'\u201A':
    case U'\u201B':
    case U'\u2039':
    case U'\u203A':
    case U'\u2032':  // prime
    case U'\u00B4':  // acute accent
      return "'";
    case U'\u201C':
    case U'\u201D':
    case U'\u201E':
    case U'\u201F':
    case U'\u00AB':
    case U'\u00BB':
    case U'\u2033':
      return "\"";
    case U'\u2010':  // hyphens, dashes, the minus sign
    case U'\u2011':
    case U'\u2012':
    case U'\u2013':
    case U'\u2014':
    case U'\u2015':
    case U'\u2212':
      return "-";
    default:
      return nullptr;
  }
}

// Character by character: a whole word's marks would be put into order first, in time that is quadratic in their
// number.
std::string WithoutMarks(std::string_view word) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* decomposed = icu::Normalizer2::getNFDInstance(error);
  if (U_FAILURE(error)) return std::string(word);
  icu::UnicodeString parts, left;
  for (int32_t next = 0, size = static_cast<int32_t>(word.size()); next < size;) {
    UChar32 composed = 0;
    U8_NEXT_OR_FFFD(word.data(), next, size, composed);
    if (!decomposed->getDecomposition(composed, parts)) parts.setTo(composed);
    for (int32_t at = 0; at < parts.length(); at = parts.moveIndex32(at, 1)) {
      const UChar32 c = parts.char32At(at);
      if ((U_GET_GC_MASK(c) & U_GC_M_MASK) == 0) left.append(c);
    }
  }
  std::string text;
  left.toUTF8String(text);
  return text;
}

std::string Visible(std::string_view text) {
  std::string visible;
  for (size_t at = 0; at < text.size();) {
    const Character character = MarkedCharacterAt(text, at);
    if (!character.is_invisible()) visible += character.bytes;
    at += character.bytes.size();
  }
  return visible;
}

}  // namespace

// One pass over a text.
class Copier::Scan {
 public:
  Scan(const Copier& copier, std::string_view text, std::string_view prefix)
      : known_(copier.known_), markers_(copier.markers_), text_(text), prefix_(prefix) {}

  std::vector<Substitution> Substitutions() &&;

 private:
  size_t MarkerSize(size_t at) const;
  bool Knows(std::string_view word) const;
  size_t TakeWord(size_t begin);
  void TakeSingle(size_t begin, const Character& character);
  void TakeInvisible(size_t begin, size_t end);
  void Replace(size_t begin, size_t end, std::string by) { made_.push_back({begin, end, std::move(by)}); }
  void Copy(size_t begin, size_t end);
  bool IsLeft(std::string_view copy);
  bool FindMarker();

  const KnownCharacters& known_;
  const std::vector<std::string>& markers_;
  const std::string_view text_, prefix_;
  std::optional<std::string> visible_;  // the text without invisible characters, once a marker is looked for
  std::vector<Substitution> made_;
  size_t copies_end_ = 0;      // the number of substitutions up to the last copy, which is one of them
  bool copy_is_open_ = false;  // nothing but white space and invisible characters has come since the last copy
  size_t next_marker_ = 0;     // the first that may be free
  size_t free_marker_ = std::string::npos;      // the last that was found to be free
  std::map<std::string_view, bool> in_prefix_;  // of what was sought there, whether it is
};

std::vector<Substitution> Copier::Scan::Substitutions() && {
  for (size_t at = 0; at < text_.size();) {
    const Character character = MarkedCharacterAt(text_, at);
    size_t end = at + character.bytes.size();
    if (const size_t marker = MarkerSize(at); marker > 0) {
      end = at + marker;
      copy_is_open_ = false;
    } else if (character.is_invisible()) {
      if (!known_.Reads(character.bytes)) TakeInvisible(at, end);
    } else if (character.is_space()) {
      if (!known_.Reads(character.bytes)) Replace(at, end, " ");
    } else if (character.is_word()) {
      end = TakeWord(at);
    } else {
      TakeSingle(at, character);
    }
    at = end;
  }
  return std::move(made_);
}

// Of the marker that the text spells at a byte; 0: none.
size_t Copier::Scan::MarkerSize(size_t at) const {
  for (const std::string& marker : markers_) {
    if (text_[at] != marker[0]) break;  // all begin with the same character
    if (text_.substr(at).starts_with(marker)) return marker.size();
  }
  return 0;
}

// On both sides.
bool Copier::Scan::Knows(std::string_view word) const {
  for (size_t at = 0; at < word.size();) {
    const std::string_view character = MarkedCharacterAt(word, at).bytes;
    if (const KnownCharacters::Sides known = known_.Of(character); !known.reads || !known.writes) return false;
    at += character.size();
  }
  return true;
}

// Returns its end.
size_t Copier::Scan::TakeWord(size_t begin) {
  bool reads = true, lacks_digit = false, lacks_letter = false, has_letter = false;
  size_t end = begin;
  while (end < text_.size()) {
    const Character character = MarkedCharacterAt(text_, end);
    if (!character.is_word() || character.is_invisible()) break;
    const KnownCharacters::Sides known = known_.Of(character.bytes);
    const bool is_digit = character.is(U_GC_ND_MASK);
    reads = reads && known.reads;
    lacks_digit = lacks_digit || (is_digit && !known.writes);
    lacks_letter = lacks_letter || (!is_digit && !known.writes);
    has_letter = has_letter || (!is_digit && known.writes);
    end += character.bytes.size();
  }
  if (reads && !lacks_digit && !(lacks_letter && has_letter)) {
    copy_is_open_ = false;
    return end;
  }
  const std::string_view word = text_.substr(begin, end - begin);
  std::string plain = u_islower(MarkedCharacterAt(text_, begin).base) ? WithoutMarks(word) : std::string();
  if (!plain.empty() && Knows(plain)) {
    Replace(begin, end, std::move(plain));
    copy_is_open_ = false;
  } else {
    Copy(begin, end);
  }
  return end;
}

// A punctuation mark, a symbol, or a character that is not assigned.
void Copier::Scan::TakeSingle(size_t begin, const Character& character) {
  const size_t end = begin + character.bytes.size();
  const auto [reads, writes] = known_.Of(character.bytes);
  const bool is_symbol = character.is(U_GC_S_MASK | U_GC_N_MASK);
  const char* ascii = InAscii(character.base);
  if (!reads && ascii != nullptr && known_.Reads(ascii)) {
    Replace(begin, end, ascii);
    copy_is_open_ = false;
  } else if (!reads || (is_symbol && !writes)) {
    Copy(begin, end);
  } else {
    copy_is_open_ = false;
  }
}

// It belongs to the copy before it, as the joiner within an emoji does, or is left out.
void Copier::Scan::TakeInvisible(size_t begin, size_t end) {
  if (copy_is_open_ && made_.back().end == begin && made_.back().is_copy) {
    made_.back().end = end;
  } else {
    Replace(begin, end, "");
  }
}

// Continues the copy before it if only white space is between them. Neither the text nor the prefix is searched once
// the markers are used up, for a text may have as many symbols as bytes.
void Copier::Scan::Copy(size_t begin, size_t end) {
  if (!copy_is_open_ && !FindMarker()) return;
  if (IsLeft(text_.substr(begin, end - begin))) {
    copy_is_open_ = false;
    return;
  }
  if (copy_is_open_) {
    made_.resize(copies_end_);
    made_.back().end = end;
    return;
  }
  made_.push_back({begin, end, markers_[next_marker_], true});
  next_marker_ += 2;
  copies_end_ = made_.size();
  copy_is_open_ = true;
}

// Whether it is not copied: the prefix has it, or may have it and has been searched often enough.
bool Copier::Scan::IsLeft(std::string_view copy) {
  if (prefix_.size() < copy.size()) return false;
  if (const auto at = in_prefix_.find(copy); at != in_prefix_.end()) return at->second;
  if (in_prefix_.size() >= kMostSought) return true;
  return in_prefix_[copy] = prefix_.find(copy) != prefix_.npos;
}

// Makes next_marker_ the first of a pair that the text does not spell, nor would without its invisible characters. Each
// pair is looked for once in a text.
bool Copier::Scan::FindMarker() {
  if (!visible_.has_value()) visible_ = Visible(text_);
  const auto spelled = [this](size_t number) { return visible_->find(markers_[number]) != std::string::npos; };
  for (; next_marker_ + 1 < markers_.size(); next_marker_ += 2) {
    if (next_marker_ == free_marker_) return true;
    if (!spelled(next_marker_) && !spelled(next_marker_ + 1)) {
      free_marker_ = next_marker_;
      return true;
    }
  }
  return false;
}

Copier::Copier(const Tokenizers& tokenizers, const SpecialTokens& special, std::string_view byte_characters)
    : known_(tokenizers, special.unknown, byte_characters) {
  for (int32_t i = 0; i < special.markers; ++i) markers_.push_back(tokenizers.source->Piece(special.first_marker + i));
}

std::vector<Substitution> Copier::For(std::string_view text, std::string_view prefix) const {
  return Scan(*this, text, prefix).Substitutions();
}

std::vector<Substitution> CopiesIn(std::string_view written, std::string_view source,
                                   const std::vector<Substitution>& substitutions) {
  std::vector<Substitution> copies;
  for (const Substitution& read : substitutions) {
    const size_t at = read.is_copy ? written.find(read.by) : written.npos;
    if (at == written.npos) continue;
    const bool is_glued = at > 0 && kPunctuation.find(written[at - 1]) != kPunctuation.npos;
    const bool was_apart = read.begin == 0 || source[read.begin - 1] == ' ';
    std::string copy = is_glued && was_apart ? " " : "";
    copies.push_back({at, at + read.by.size(), copy.append(source.substr(read.begin, read.end - read.begin))});
  }
  std::sort(copies.begin(), copies.end(),
            [](const Substitution& a, const Substitution& b) { return a.begin < b.begin; });
  // The markers of a damaged model may overlap.
  std::vector<Substitution> disjoint;
  for (Substitution& copy : copies) {
    if (disjoint.empty() || copy.begin >= disjoint.back().end) disjoint.push_back(std::move(copy));
  }
  return disjoint;
}

}  // namespace salient
