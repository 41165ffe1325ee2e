// Checks of round trips that every format must pass, on one document.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "documents/formats/parsers.h"
#include "documents/segments/segments.h"
#include "gtest/gtest.h"

namespace salient {

inline std::unique_ptr<FormattedDocument> ParseAs(const std::string& format, std::string_view bytes,
                                                  const ParseOptions& options = {.source_language = "en"}) {
  auto document = ParseDocument(**FormatNamed(format), bytes, options);
  EXPECT_TRUE(document.ok()) << format << ": " << document.status();
  return document.ok() ? *std::move(document) : nullptr;
}

inline std::string RefusalAs(const std::string& format, std::string_view bytes, const ParseOptions& options = {}) {
  const auto document = ParseDocument(**FormatNamed(format), bytes, options);
  return document.ok() ? "was not refused" : document.status().ToString();
}

inline std::vector<MarkedText> Sources(const FormattedDocument& document) {
  std::vector<MarkedText> sources;
  for (const Unit& unit : document.units()) sources.push_back(unit.source);
  return sources;
}

// The units' text, markers as their bytes in brackets: "Press ⟦<b>⟧OK⟦</b>⟧."
inline std::vector<std::string> Shown(const FormattedDocument& document) {
  std::vector<std::string> shown;
  for (const Unit& unit : document.units()) {
    std::string text;
    size_t done = 0;
    for (const MarkerPlace& place : unit.source.places) {
      text += unit.source.text.substr(done, place.at - done) + "⟦" + unit.markers[place.marker].bytes + "⟧";
      done = place.at;
    }
    shown.push_back(text + unit.source.text.substr(done));
  }
  return shown;
}

// The texts that a model gets.
inline std::vector<std::string> SegmentTexts(const FormattedDocument& document) {
  const auto segments = UnitSegments::Create(document.units(), {.source_language = "en"});
  EXPECT_TRUE(segments.ok()) << segments.status();
  return segments.ok() ? segments->texts() : std::vector<std::string>();
}

// A translation that differs from its source and has the same length: ROT13 of ASCII letters, except of those that
// could form a placeholder.
inline MarkedText Rot13(MarkedText text) {
  for (size_t i = 0; i < text.text.size(); ++i) {
    char& c = text.text[i];
    if (i > 0 && text.text[i - 1] == '%') continue;
    if (c >= 'a' && c <= 'z') c = static_cast<char>('a' + (c - 'a' + 13) % 26);
    if (c >= 'A' && c <= 'Z') c = static_cast<char>('A' + (c - 'A' + 13) % 26);
  }
  return text;
}

inline std::string RenderRot13(const FormattedDocument& document) {
  std::vector<MarkedText> translations;
  for (const Unit& unit : document.units()) translations.push_back(Rot13(unit.source));
  const auto rendered = document.Render(translations);
  EXPECT_TRUE(rendered.ok()) << rendered.status();
  return rendered.value_or("");
}

// The document with one text in the place of another, wherever a unit is the first. Units hold no markers.
inline std::string RenderWith(const FormattedDocument& document,
                              const std::vector<std::pair<std::string, std::string>>& translated) {
  std::vector<MarkedText> translations = Sources(document);
  for (MarkedText& text : translations) {
    for (const auto& [from, to] : translated) {
      if (text.text == from) text.text = to;
    }
  }
  const auto rendered = document.Render(translations);
  EXPECT_TRUE(rendered.ok()) << rendered.status();
  return rendered.value_or("");
}

inline void ExpectIdentity(const std::string& format, std::string_view bytes) {
  const auto document = ParseAs(format, bytes);
  if (document == nullptr) return;
  const auto rendered = document->Render(Sources(*document));
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  EXPECT_TRUE(*rendered == bytes) << "not byte for byte:\n" << *rendered;
}

// Expects that reading the translated document gives the same units, translated, with the same markers in the same
// places.
inline void ExpectTranslationIsRead(const std::string& format, std::string_view bytes) {
  const auto document = ParseAs(format, bytes);
  if (document == nullptr) return;
  const std::string translated = RenderRot13(*document);
  const auto again = ParseAs(format, translated);
  ASSERT_NE(again, nullptr) << translated;
  ASSERT_EQ(again->units().size(), document->units().size()) << translated;
  for (size_t i = 0; i < again->units().size(); ++i) {
    const MarkedText expected = Rot13(document->units()[i].source), &read = again->units()[i].source;
    EXPECT_EQ(read.text, expected.text) << "unit " << i;
    EXPECT_EQ(read.places, expected.places) << "unit " << i << ": " << Shown(*document)[i] << "\n" << Shown(*again)[i];
  }
}

// The sentences of a document in English; a model that knows no markers has 0 of them.
inline UnitSegments Segments(const FormattedDocument& document, int32_t markers = 0) {
  auto segments = UnitSegments::Create(document.units(), {.source_language = "en", .markers = markers});
  EXPECT_TRUE(segments.ok()) << segments.status();
  return *std::move(segments);
}

}  // namespace salient
