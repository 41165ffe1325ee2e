#include "engine/text/normalizer.h"

#include "engine/base/utf8.h"

namespace salient {
namespace {

// The fields of a unit of the double array.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & (0x80000000 | 0xFF); }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

uint32_t ReadUnit(std::string_view bytes) {
  uint32_t unit = 0;
  for (int i = 3; i >= 0; --i) unit = unit << 8 | static_cast<unsigned char>(bytes[i]);
  return unit;
}

// As the reference implementation, which looks at no more matches than this.
constexpr int kMaxMatches = 32;

// NFKC's longest has 33 bytes. Without a bound a character of the text could become megabytes.
constexpr size_t kMaxReplacementBytes = 256;

bool AreShort(std::string_view replacements) {
  for (size_t at = 0; at < replacements.size();) {
    const size_t end = replacements.find('\0', at);
    if (end - at > kMaxReplacementBytes) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

size_t CharacterLength(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const std::string_view character = text.substr(0, length);
  return character.size() == length && !FirstInvalidText(character).has_value() ? length : 0;
}

Normalizer::Normalizer(const SentencePieceModel& model, const PieceTrie& user_defined)
    : model_(model), user_defined_(user_defined) {
  if (!model.charsmap.empty()) ok_ = ReadCharsmap(model.charsmap);
}

bool Normalizer::ReadCharsmap(std::string_view blob) {
  if (blob.size() < 4) return false;
  const uint32_t size = ReadUnit(blob);
  blob.remove_prefix(4);
  if (size == 0 || size % 4 != 0 || size >= blob.size() || blob.back() != '\0') return false;
  units_.reserve(size / 4);
  for (uint32_t i = 0; i < size; i += 4) units_.push_back(ReadUnit(blob.substr(i, 4)));
  replacements_ = blob.substr(size);
  return AreShort(replacements_);
}

bool Normalizer::LongestMatch(std::string_view text, Step& step) const {
  if (units_.empty()) return false;
  bool found = false;
  int matches = 0;
  uint32_t position = Offset(units_[0]);
  for (size_t i = 0; i < text.size() && matches < kMaxMatches; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    position ^= byte;
    if (position >= units_.size() || Label(units_[position]) != byte) break;
    const uint32_t unit = units_[position];
    position ^= Offset(unit);
    if (!HasLeaf(unit)) continue;
    if (position >= units_.size() || Value(units_[position]) >= replacements_.size()) break;
    ++matches;
    found = true;
    const std::string_view rest = replacements_.substr(Value(units_[position]));
    step = {rest.substr(0, rest.find('\0')), i + 1};
  }
  return found;
}

Normalizer::Step Normalizer::Next(std::string_view text) const {
  if (const size_t length = user_defined_.LongestPrefix(text); length > 0) return {text.substr(0, length), length};
  Step step;
  if (LongestMatch(text, step)) return step;
  const size_t length = CharacterLength(text);
  if (length == 0) return {kReplacementCharacter, 1};
  return {text.substr(0, length), length};
}

std::string Normalizer::Normalize(std::string_view text) const {
  const std::string space(model_.escape_whitespaces ? kSpaceSymbol : " ");
  const bool trims = model_.remove_extra_whitespaces;
  while (trims && !text.empty()) {
    const Step step = Next(text);
    if (step.text != " ") break;
    text.remove_prefix(step.consumed);
  }
  std::string normalized;
  if (text.empty()) return normalized;
  normalized.reserve(text.size() + text.size() / 2);
  if (model_.add_dummy_prefix && !model_.whitespace_as_suffix) normalized += space;

  bool after_space = trims;
  while (!text.empty()) {
    Step step = Next(text);
    while (after_space && step.text.starts_with(' ')) step.text.remove_prefix(1);
    for (const char c : step.text) {
      if (c == ' ') {
        normalized += space;
      } else {
        normalized += c;
      }
    }
    if (!step.text.empty()) after_space = trims && step.text.back() == ' ';
    text.remove_prefix(step.consumed);
  }
  while (trims && normalized.ends_with(space)) normalized.erase(normalized.size() - space.size());
  if (model_.add_dummy_prefix && model_.whitespace_as_suffix) normalized += space;
  return normalized;
}

}  // namespace salient
