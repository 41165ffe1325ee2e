#include "client/chrf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kOrders = 6;
constexpr double kBetaSquared = 4;

// What Python's str.split() takes for white space.
bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::u32string CodePointsWithoutSpace(std::string_view text) {
  std::u32string characters;
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    // A first byte has as many leading ones as the character has bytes, or none.
    char32_t character = first < 0x80 ? first : first & (0x7F >> std::countl_one(first));
    while (i < text.size() && ContinuesCharacter(text[i])) {
      character = character << 6 | (static_cast<unsigned char>(text[i++]) & 0x3F);
    }
    if (!IsWhiteSpace(character)) characters.push_back(character);
  }
  return characters;
}

using NGrams = std::unordered_map<std::u32string_view, int64_t>;

NGrams CountNGrams(std::u32string_view text, size_t order) {
  NGrams counts;
  for (size_t i = 0; i + order <= text.size(); ++i) ++counts[text.substr(i, order)];
  return counts;
}

struct Matches {
  int64_t translation = 0, reference = 0, both = 0;

  void Add(const NGrams& of_translation, const NGrams& of_reference) {
    for (const auto& [ngram, count] : of_reference) reference += count;
    for (const auto& [ngram, count] : of_translation) {
      if (!of_reference.empty()) translation += count;  // a reference too short for this order counts for nothing
      const auto found = of_reference.find(ngram);
      if (found != of_reference.end()) both += std::min(count, found->second);
    }
  }
};

}  // namespace

double Chrf(const std::vector<std::string>& translations, const std::vector<std::string>& references) {
  std::array<Matches, kOrders> matches;
  for (size_t i = 0; i < translations.size(); ++i) {
    const std::u32string translation = CodePointsWithoutSpace(translations[i]);
    const std::u32string reference = CodePointsWithoutSpace(references[i]);
    for (size_t order = 1; order <= kOrders; ++order) {
      matches[order - 1].Add(CountNGrams(translation, order), CountNGrams(reference, order));
    }
  }
  double precision = 0, recall = 0;
  int orders = 0;  // which both have
  for (const Matches& of_order : matches) {
    if (of_order.translation == 0 || of_order.reference == 0) continue;
    precision += static_cast<double>(of_order.both) / static_cast<double>(of_order.translation);
    recall += static_cast<double>(of_order.both) / static_cast<double>(of_order.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  return 100 * (1 + kBetaSquared) * precision * recall / (kBetaSquared * precision + recall);
}

}  // namespace salient
