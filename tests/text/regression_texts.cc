#include "tests/text/regression_texts.h"

#include <iterator>
#include <random>

namespace salient {
namespace {

const char* const kParts[] = {"the",
                              "house",
                              "Haus ",
                              " of ",
                              "Donaudampfschiff",
                              "ing",
                              " ",
                              "  ",
                              "\t",
                              ".",
                              ", ",
                              "\xE2\x80\x94",
                              "3.14",
                              "1,000",
                              "<sep>",
                              "</s>",
                              "<unk>",
                              "<0x41>",
                              "<b>",
                              "{x}",
                              "%s",
                              "&amp;",
                              "https://a.b/c?d",
                              "▁",
                              "▁the",
                              "ß",
                              "ẞ",
                              "é",
                              "e\xCC\x81",
                              "ﬁ",
                              "ｈｏｕｓｅ",
                              "Ⅷ",
                              "㌔",
                              "½",
                              "™",
                              "学校",
                              "한국어",
                              "ไทย",
                              "हिन्दी",
                              "العربية",
                              "עברית",
                              "😀",
                              "👍🏽",
                              "👨‍👩‍👧",
                              "\xC2\xA0",
                              "\xE2\x80\x8B",
                              "\xE2\x80\x8D",
                              "\xEF\xBB\xBF",
                              "\xE3\x80",
                              "\xC3",
                              "\x80",
                              "\xFF",
                              "\xF0\x9F\x98",
                              "\xED\xA0\x80",
                              "\x01",
                              "\xC2\x85",
                              "İ",
                              "ſ",
                              "ǅ",
                              "ﷺ"};

std::string Character(uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  std::string bytes;
  const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  for (int i = following; i >= 0; --i) bytes += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  bytes[0] = static_cast<char>((following == 1 ? 0xC0 : following == 2 ? 0xE0 : 0xF0) | (code >> (6 * following)));
  return bytes;
}

}  // namespace

std::vector<std::string> RegressionTexts(int count) {
  std::mt19937 random(11);
  std::vector<std::string> texts(count);
  for (int i = 0; i < count; ++i) {
    // One block of Unicode per text, so that characters occur together with their neighbours; every third text has
    // none.
    const uint32_t block = random() % 0x10FF << 8;
    for (uint32_t left = 1 + random() % 40; left > 0; --left) {
      if (i % 3 != 0 && random() % 2 == 0) {
        texts[i] += Character(block + 1 + random() % 0xFF);
      } else {
        texts[i] += kParts[random() % std::size(kParts)];
      }
    }
  }
  return texts;
}

void TokenDigest::Add(const std::vector<int32_t>& tokens) {
  const auto add = [this](uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) value_ = (value_ ^ (number >> shift & 0xFF)) * 0x100000001b3u;
  };
  add(static_cast<uint32_t>(tokens.size()));
  for (const int32_t token : tokens) add(static_cast<uint32_t>(token));
}

}  // namespace salient
