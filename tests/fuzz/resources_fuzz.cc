// Glossaries and translation memories: any bytes. What is taken can be found, what is not has a reason.
//
// The first byte says what the others are: a glossary, or a memory of one of its kinds.

#include <array>
#include <set>
#include <string>
#include <string_view>

#include "documents/formats/memory_file.h"
#include "documents/resources/glossary.h"
#include "documents/resources/memory.h"
#include "engine/base/utf8.h"
#include "tests/fuzz/fuzz.h"

namespace salient {
namespace {

constexpr std::array<std::string_view, 3> kMemories = {kTmxMimeType, kPoMimeType, kTsvMimeType};

// Small, so that what is meant to be refused is refused soon.
DocumentLimits Limits() {
  DocumentLimits limits;
  limits.max_bytes = 1 << 20;
  limits.max_units = 1000;
  limits.max_depth = 50;
  return limits;
}

void CheckGlossary(std::string_view bytes) {
  const absl::StatusOr<Glossary> glossary = Glossary::Parse(bytes, Limits());
  if (!glossary.ok()) return Require(!glossary.status().message().empty(), "a refusal has a reason");
  for (size_t i = 0; i < glossary->size(); ++i) {
    const Term& term = glossary->term(i);
    Require(!term.target.empty() && term.target.size() <= kMostTermBytes, "a target is bounded");
    Require(!term.source.empty() && term.source.size() <= kMostTermBytes, "a source is bounded");
    const std::vector<TermMatch> found = glossary->Find(term.source);
    Require(!found.empty(), "a term is found in its own source");
    size_t end = 0;
    for (const TermMatch& match : found) {
      Require(end <= match.range.begin && match.range.begin < match.range.end, "matches are disjoint");
      end = match.range.end;
      Require(end <= term.source.size(), "a match is in the text");
      Require(static_cast<size_t>(match.term) < glossary->size(), "a match is of a term");
    }
  }
}

void CheckMemory(std::string_view mime_type, std::string_view bytes) {
  std::set<std::string> languages;
  const absl::StatusOr<TranslationMemory> memory =
      TranslationMemory::Load(bytes, mime_type, "en", "de", Limits(), &languages);
  if (!memory.ok()) return Require(!memory.status().message().empty(), "a refusal has a reason");
  Require(memory->size() <= static_cast<size_t>(Limits().max_units), "entries are bounded");
  const bool has_pair = languages.contains("en") && languages.contains("de");
  Require(mime_type != kTmxMimeType || has_pair || memory->size() == 0, "entries are of languages that the file has");
  TranslationMemory::Steps steps;
  for (const Suggestion& like : memory->FindAlike(bytes.substr(0, 2000), steps, 0.0, 100)) {
    Require(like.score >= 0 && like.score <= 1, "a score is a share");
    const std::string* translation = memory->Find(like.source);
    Require(translation != nullptr && *translation == like.translation, "an entry is found by its source");
    Require(!FirstInvalidText(*translation).has_value(), "a translation is text");
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "0data base\tDatenbank\nGo\tGo\tc\nserver\tServer\ti\nround trip ticket\tR\xC3\xBC"
      "ckfahrschein\tci\n",
      "1<tmx version=\"1.4\"><header/><body><tu><tuv xml:lang=\"en-US\"><seg>One <bpt i=\"1\"/>key<ept i=\"1\"/>."
      "</seg></tuv><tuv lang=\"de\"><seg>Ein <hi>Schl\xC3\xBCssel</hi>.</seg></tuv></tu></body></tmx>",
      "2msgid \"\"\nmsgstr \"Language: de\\n\"\n\nmsgctxt \"menu\"\nmsgid \"_Open\"\nmsgid_plural \"_Open %d\"\n"
      "msgstr[0] \"\xC3\x96_ffnen\"\nmsgstr[1] \"%d \xC3\xB6_ffnen\"\n",
      "3One key.\tEin Schl\xC3\xBCssel.\nTwo  keys.\tZwei.\r\n",
  };
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const size_t kind = data[0] % 4;
  kind == 0 ? salient::CheckGlossary(bytes) : salient::CheckMemory(salient::kMemories[kind - 1], bytes);
  return 0;
}
