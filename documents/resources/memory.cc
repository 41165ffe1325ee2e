#include "documents/resources/memory.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/characters.h"
#include "documents/formats/memory_file.h"
#include "documents/input.h"
#include "documents/language.h"
#include "documents/markers/projection.h"
#include "documents/syntax/po_entries.h"
#include "documents/syntax/tsv.h"
#include "documents/syntax/xml_events.h"
#include "documents/units/accelerator.h"
#include "engine/base/check.h"

namespace salient {
namespace {

constexpr size_t kCandidates = 64;
constexpr size_t kMostCommon = 20000;       // entries of a word that are looked at
constexpr size_t kMostComparedWords = 400;  // of a segment that is compared
constexpr size_t kEntriesCleared = 8;       // whose weights are cleared in the time of a step

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
  return absl::ResourceExhaustedError(absl::StrCat("has more than ", limits.max_units, " entries; ", kLeaveOut));
}

// The primary language of a TMX variant (the element tuv).
std::string TmxLanguage(std::string_view bytes, const XmlEvent& variant) {
  const std::string_view language = AttributeOf(bytes, variant, "xml:lang");
  return PrimaryLanguage(language.empty() ? AttributeOf(bytes, variant, "lang") : language);
}

// A TMX file's units: of each the segments by language, inline codes left out.
class TmxReader {
 public:
  TmxReader(std::string_view bytes, const std::vector<XmlEvent>& events, std::string_view source,
            std::string_view target)
      : bytes_(bytes), events_(events), source_(PrimaryLanguage(source)), target_(PrimaryLanguage(target)) {}

  absl::Status Read(const DocumentLimits& limits, TranslationMemory* memory, std::set<std::string>* languages) {
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
      const std::string language = TmxLanguage(bytes_, event);
      if (language.empty()) continue;
      if (languages != nullptr) languages->insert(language);
      if (language == source_) source = Segment(i);
      if (language == target_) target = Segment(i);
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
  // As a document's messages, those of a memory are compared without accelerators.
  const auto plain = [mark = AcceleratorMark(*entries)](const PoString& string) {
    const std::optional<Accelerator> accelerator = FindAccelerator(string.value, mark);
    return accelerator.has_value() ? accelerator->text : string.value;
  };
  for (const PoEntry& entry : *entries) {
    if (entry.fuzzy || entry.translations.empty()) continue;
    absl::Status status = AddWithin(limits, plain(entry.id), plain(entry.translations[0]), memory);
    if (status.ok() && entry.translations.size() > 1) {
      status = AddWithin(limits, plain(entry.plural), plain(entry.translations[1]), memory);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReadTsv(std::string_view bytes, const DocumentLimits& limits, TranslationMemory* memory) {
  return ForEachTsvRow(bytes, [&limits, memory](size_t line, absl::Span<const std::string_view> fields) {
    if (fields.size() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", line, " has no tab between a source and its translation"));
    }
    return AddWithin(limits, fields[0], fields[1], memory);
  });
}

}  // namespace

absl::StatusOr<TranslationMemory> TranslationMemory::Load(std::string_view bytes, std::string_view mime_type,
                                                          std::string_view source_language,
                                                          std::string_view target_language,
                                                          const DocumentLimits& limits,
                                                          std::set<std::string>* languages) {
  TranslationMemory memory;
  absl::Status status = CheckSize(bytes, "", limits, kLeaveOut);
  if (!status.ok()) return status;
  if (mime_type == kTmxMimeType) {
    const absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(bytes, "TMX", limits);
    status = events.ok() ? TmxReader(bytes, *events, source_language, target_language).Read(limits, &memory, languages)
                         : events.status();
  } else if (mime_type == kPoMimeType) {
    status = ReadPo(bytes, limits, &memory);
  } else if (mime_type == kTsvMimeType) {
    status = CheckText(bytes, "", limits);
    if (status.ok()) status = ReadTsv(bytes, limits, &memory);
  } else {
    status = absl::InvalidArgumentError(absl::StrCat("mime_type: '", std::string(mime_type), "' is none of ",
                                                     std::string(kTmxMimeType), ", ", std::string(kPoMimeType), " and ",
                                                     std::string(kTsvMimeType)));
  }
  if (!status.ok()) return status;
  return memory;
}

bool TranslationMemory::Steps::Take(size_t count) {
  if (left_ < 0) return false;
  left_ -= static_cast<int64_t>(count);
  return left_ >= 0;
}

TranslationMemory::TranslationMemory(std::shared_ptr<const TranslationMemory> shared) : shared_(std::move(shared)) {
  SALIENT_CHECK(shared_ == nullptr || shared_->shared_ == nullptr);
}

const TranslationMemory::Entry& TranslationMemory::entry(uint32_t number) const {
  return number < shared_entries() ? shared_->entries_[number] : entries_[number - shared_entries()];
}

const std::string& TranslationMemory::translation(uint32_t number) const {
  const auto replaced = replaced_.find(number);
  return replaced == replaced_.end() ? entry(number).translation : replaced->second;
}

std::optional<uint32_t> TranslationMemory::EntryOf(const std::string& source) const {
  if (shared_ != nullptr) {
    if (const auto shared = shared_->EntryOf(source); shared.has_value()) return shared;
  }
  const auto found = by_source_.find(source);
  return found == by_source_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> TranslationMemory::WordOf(const std::string& word) const {
  if (shared_ != nullptr) {
    if (const auto shared = shared_->WordOf(word); shared.has_value()) return shared;
  }
  const auto found = words_.find(word);
  return found == words_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t TranslationMemory::MakeWord(const std::string& word) {
  if (const auto known = WordOf(word); known.has_value()) return *known;
  return words_.emplace(word, word_count()).first->second;
}

void TranslationMemory::Add(const TranslationMemory& other) {
  for (uint32_t i = 0; i < other.size(); ++i) Add(other.entry(i).source, other.translation(i));
}

void TranslationMemory::Add(std::string_view source, std::string_view translation) {
  const std::string key = SingleSpaces(source);
  const std::string line = OneLine(translation);
  if (key.empty() || line.empty()) return;
  if (const auto known = EntryOf(key); known.has_value()) {
    if (*known < shared_entries()) {
      replaced_[*known] = line;
    } else {
      entries_[*known - shared_entries()].translation = line;
    }
    return;
  }
  const auto number = static_cast<uint32_t>(size());
  Entry entry{key, line, {}};
  for (const ByteRange& word : WordsOf(key)) {
    entry.words.push_back(MakeWord(absl::AsciiStrToLower(key.substr(word.begin, word.end - word.begin))));
    std::vector<uint32_t>& entries = with_word_[entry.words.back()];
    if (entries.empty() || entries.back() != number) entries.push_back(number);
  }
  by_source_.emplace(key, number);
  entries_.push_back(std::move(entry));
}

const std::string* TranslationMemory::Find(std::string_view source) const {
  const auto found = EntryOf(SingleSpaces(source));
  return found.has_value() ? &translation(*found) : nullptr;
}

absl::Span<const uint32_t> TranslationMemory::OwnEntriesWith(uint32_t word) const {
  const auto found = with_word_.find(word);
  if (found == with_word_.end()) return {};
  return found->second;
}

size_t TranslationMemory::CountWith(uint32_t word) const {
  return (shared_ == nullptr ? 0 : shared_->CountWith(word)) + OwnEntriesWith(word).size();
}

std::vector<uint32_t> TranslationMemory::Candidates(const std::vector<uint32_t>& words, Steps& steps) const {
  std::set<uint32_t> common;  // words that entries may have, too
  size_t looked_at = size() / kEntriesCleared;
  for (const uint32_t word : words) {
    if (word >= word_count() || CountWith(word) > kMostCommon) continue;
    if (common.insert(word).second) looked_at += CountWith(word);
  }
  if (!steps.Take(looked_at)) return {};
  std::vector<double> weights(size());
  std::vector<uint32_t> candidates;
  for (const uint32_t word : common) {
    const double weight = 1.0 / static_cast<double>(CountWith(word));
    for (const TranslationMemory* part : {shared_.get(), this}) {
      if (part == nullptr) continue;
      for (const uint32_t entry : part->OwnEntriesWith(word)) {
        if (weights[entry] == 0) candidates.push_back(entry);
        weights[entry] += weight;
      }
    }
  }
  const size_t most = std::min(candidates.size(), kCandidates);
  std::partial_sort(
      candidates.begin(), candidates.begin() + most, candidates.end(),
      [&weights](uint32_t a, uint32_t b) { return std::pair(-weights[a], a) < std::pair(-weights[b], b); });
  candidates.resize(most);
  return candidates;
}

std::vector<Suggestion> TranslationMemory::FindAlike(std::string_view source, Steps& steps, double least,
                                                     size_t most) const {
  const std::string key = SingleSpaces(source);
  const std::vector<ByteRange> ranges = WordsOf(key);
  std::vector<Suggestion> suggestions;
  if (ranges.empty() || ranges.size() > kMostComparedWords) return suggestions;
  std::vector<uint32_t> words;
  uint32_t unknown = word_count();
  for (const ByteRange& range : ranges) {
    const auto known = WordOf(absl::AsciiStrToLower(key.substr(range.begin, range.end - range.begin)));
    words.push_back(known.has_value() ? *known : unknown++);
  }
  for (const uint32_t number : Candidates(words, steps)) {
    const Entry& alike = entry(number);
    const size_t longer = std::max(alike.words.size(), words.size());
    if (alike.words.size() > kMostComparedWords || !steps.Take(alike.words.size() * words.size())) continue;
    const double score = 1 - static_cast<double>(WordEdits(alike.words, words)) / static_cast<double>(longer);
    if (score >= least) suggestions.push_back({alike.source, translation(number), score});
  }
  std::stable_sort(suggestions.begin(), suggestions.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  suggestions.resize(std::min(suggestions.size(), most));
  return suggestions;
}

}  // namespace salient
