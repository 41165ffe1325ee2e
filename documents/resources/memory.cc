#include "documents/resources/memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/formats/memory_file.h"
#include "documents/input.h"
#include "documents/language.h"
#include "documents/markers/projection.h"
#include "documents/syntax/po_entries.h"
#include "documents/syntax/tsv.h"
#include "documents/syntax/xml_events.h"

namespace salient {
namespace {

constexpr size_t kCandidates = 64;
constexpr size_t kMostCommon = 20000;       // entries of a word that are looked at
constexpr size_t kMostComparedWords = 400;  // of a segment that is compared
constexpr size_t kEntriesCleared = 8;       // whose weights are cleared in the time of a step

std::string SingleSpaces(std::string_view text) {
  std::string single;
  for (const char c : text) {
    const bool space = absl::ascii_isspace(static_cast<unsigned char>(c));
    if (!space) {
      single.push_back(c);
    } else if (!single.empty() && single.back() != ' ') {
      single.push_back(' ');
    }
  }
  if (!single.empty() && single.back() == ' ') single.pop_back();
  return single;
}

// Insertions, deletions and substitutions of words.
size_t WordEdits(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Adds an entry, unless there are as many as allowed.
absl::Status AddWithin(const DocumentLimits& limits, std::string_view source, std::string_view translation,
                       TranslationMemory* memory) {
  memory->Add(source, translation);
  if (memory->size() <= static_cast<size_t>(limits.max_units)) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("memory: has more than ", limits.max_units, " entries; leave out what the document does not need"));
}

// A TMX file's units: of each the segments by language, inline codes left out.
class TmxReader {
 public:
  TmxReader(std::string_view bytes, const std::vector<XmlEvent>& events, std::string_view source,
            std::string_view target)
      : bytes_(bytes), events_(events), source_(PrimaryLanguage(source)), target_(PrimaryLanguage(target)) {}

  absl::Status Read(const DocumentLimits& limits, TranslationMemory* memory) {
    if (events_.empty() || events_[0].name != "tmx") {
      return absl::InvalidArgumentError("TMX: its root is not the element tmx");
    }
    std::string source, target;
    for (size_t i = 0; i < events_.size(); ++i) {
      const XmlEvent& event = events_[i];
      if (event.kind == XmlEvent::Kind::kStart && event.name == "tu") source.clear(), target.clear();
      if (event.kind == XmlEvent::Kind::kEnd && event.name == "tu" && !source.empty() && !target.empty()) {
        if (absl::Status status = AddWithin(limits, source, target, memory); !status.ok()) return status;
      }
      if (event.kind != XmlEvent::Kind::kStart || event.name != "tuv") continue;
      std::string_view language = AttributeOf(bytes_, event, "xml:lang");
      if (language.empty()) language = AttributeOf(bytes_, event, "lang");
      if (PrimaryLanguage(language) == source_) source = Segment(i);
      if (PrimaryLanguage(language) == target_) target = Segment(i);
      i = event.match;
    }
    return absl::OkStatus();
  }

 private:
  std::string Segment(size_t variant) const {
    std::string text;
    bool in_segment = false;
    for (size_t i = variant + 1; i < events_[variant].match; ++i) {
      const XmlEvent& event = events_[i];
      if (event.kind == XmlEvent::Kind::kText && in_segment) text.append(event.text);
      if (event.kind != XmlEvent::Kind::kStart) continue;
      if (event.name == "seg") {
        in_segment = true;
      } else if (event.name != "hi") {  // codes hold markup, highlighting holds text
        i = event.match;
      }
    }
    return text;
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const std::string source_, target_;
};

absl::Status ReadPo(std::string_view bytes, const DocumentLimits& limits, TranslationMemory* memory) {
  const absl::StatusOr<std::vector<PoEntry>> entries = ReadPoEntries(bytes, limits);
  if (!entries.ok()) return entries.status();
  for (const PoEntry& entry : *entries) {
    if (entry.fuzzy || entry.translations.empty()) continue;
    absl::Status status = AddWithin(limits, entry.id.value, entry.translations[0].value, memory);
    if (status.ok() && entry.translations.size() > 1) {
      status = AddWithin(limits, entry.plural.value, entry.translations[1].value, memory);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReadTsv(std::string_view bytes, const DocumentLimits& limits, TranslationMemory* memory) {
  return ForEachTsvRow(bytes, [&limits, memory](size_t line, absl::Span<const std::string_view> fields) {
    if (fields.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory: line ", line, " has no tab between a source and its translation"));
    }
    return AddWithin(limits, fields[0], fields[1], memory);
  });
}

}  // namespace

absl::StatusOr<TranslationMemory> TranslationMemory::Load(std::string_view bytes, std::string_view mime_type,
                                                          std::string_view source_language,
                                                          std::string_view target_language,
                                                          const DocumentLimits& limits) {
  TranslationMemory memory;
  absl::Status status;
  if (mime_type == kTmxMimeType) {
    const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(bytes, "TMX", limits);
    status = events.ok() ? TmxReader(bytes, *events, source_language, target_language).Read(limits, &memory)
                         : events.status();
  } else if (mime_type == kPoMimeType) {
    status = ReadPo(bytes, limits, &memory);
  } else if (mime_type == kTsvMimeType) {
    status = CheckText(bytes, "memory", limits);
    if (status.ok()) status = ReadTsv(bytes, limits, &memory);
  } else {
    status = absl::InvalidArgumentError(absl::StrCat("mime_type: '", std::string(mime_type), "' is none of ",
                                                     std::string(kTmxMimeType), ", ", std::string(kPoMimeType), " and ",
                                                     std::string(kTsvMimeType)));
  }
  if (!status.ok()) return status;
  return memory;
}

uint32_t TranslationMemory::WordIndex(std::string_view word) {
  const auto [found, is_new] =
      word_index_.emplace(absl::AsciiStrToLower(std::string(word)), static_cast<uint32_t>(word_entries_.size()));
  if (is_new) word_entries_.emplace_back();
  return found->second;
}

void TranslationMemory::Add(const TranslationMemory& other) {
  for (const Entry& entry : other.entries_) Add(entry.source, entry.translation);
}

void TranslationMemory::Add(std::string_view source, std::string_view translation) {
  const std::string key = SingleSpaces(source);
  if (key.empty() || SingleSpaces(translation).empty()) return;
  const auto [found, is_new] = by_source_.emplace(key, static_cast<uint32_t>(entries_.size()));
  if (!is_new) {
    entries_[found->second].translation = translation;
    return;
  }
  Entry entry{key, std::string(translation)};
  for (const ByteRange& word : WordsOf(key)) {
    const uint32_t index = WordIndex(std::string_view(key).substr(word.begin, word.end - word.begin));
    entry.words.push_back(index);
    std::vector<uint32_t>& entries = word_entries_[index];
    if (entries.empty() || entries.back() != found->second) entries.push_back(found->second);
  }
  entries_.push_back(std::move(entry));
}

const std::string* TranslationMemory::Find(std::string_view source) const {
  const auto found = by_source_.find(SingleSpaces(source));
  return found == by_source_.end() ? nullptr : &entries_[found->second].translation;
}

std::vector<uint32_t> TranslationMemory::Candidates(const std::vector<uint32_t>& words) const {
  std::set<uint32_t> shared;  // words that entries may have, too
  size_t looked_at = entries_.size() / kEntriesCleared;
  for (const uint32_t word : words) {
    if (word >= word_entries_.size() || word_entries_[word].size() > kMostCommon) continue;
    if (shared.insert(word).second) looked_at += word_entries_[word].size();
  }
  if (!steps_.Take(looked_at)) return {};
  std::vector<double> weights(entries_.size());
  std::vector<uint32_t> candidates;
  for (const uint32_t word : shared) {
    const std::vector<uint32_t>& entries = word_entries_[word];
    for (const uint32_t entry : entries) {
      if (weights[entry] == 0) candidates.push_back(entry);
      weights[entry] += 1.0 / static_cast<double>(entries.size());
    }
  }
  const size_t most = std::min(candidates.size(), kCandidates);
  std::partial_sort(
      candidates.begin(), candidates.begin() + most, candidates.end(),
      [&weights](uint32_t a, uint32_t b) { return std::pair(-weights[a], a) < std::pair(-weights[b], b); });
  candidates.resize(most);
  return candidates;
}

std::vector<Suggestion> TranslationMemory::FindAlike(std::string_view source, double least, size_t most) const {
  const std::string key = SingleSpaces(source);
  const std::vector<ByteRange> ranges = WordsOf(key);
  std::vector<Suggestion> suggestions;
  if (ranges.empty() || ranges.size() > kMostComparedWords) return suggestions;
  std::vector<uint32_t> words;
  auto unknown = static_cast<uint32_t>(word_entries_.size());
  for (const ByteRange& range : ranges) {
    const auto found = word_index_.find(absl::AsciiStrToLower(key.substr(range.begin, range.end - range.begin)));
    words.push_back(found == word_index_.end() ? unknown++ : found->second);
  }
  for (const uint32_t index : Candidates(words)) {
    const Entry& entry = entries_[index];
    const size_t longer = std::max(entry.words.size(), words.size());
    if (entry.words.size() > kMostComparedWords || !steps_.Take(entry.words.size() * words.size())) continue;
    const double score = 1 - static_cast<double>(WordEdits(entry.words, words)) / static_cast<double>(longer);
    if (score >= least) suggestions.push_back({entry.source, entry.translation, score});
  }
  std::stable_sort(suggestions.begin(), suggestions.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  suggestions.resize(std::min(suggestions.size(), most));
  return suggestions;
}

}  // namespace salient
