// A translation memory: segments with their translations, with exact and fuzzy lookup.
//
// Loaded from TMX, PO or lines of source, tab, translation.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "documents/document.h"

namespace salient {

struct Suggestion {
  std::string source, translation;
  double score = 0;  // 1 - word edits / words of the longer one; 1: equal except for white space
};

// Entries of its own, and perhaps those of another memory, which it shares instead of copying them: so a request may
// add entries to a large memory of the server. Thread safety: const methods may be called from any thread while no
// other one runs, also of memories that share a part.
class TranslationMemory {
 public:
  // What FindAlike may still do: an entry that it looks at is a step, and so is a pair of words that it compares. A
  // document has some of its own, which bound the time for it. For one thread.
  class Steps {
   public:
    explicit Steps(int64_t all = int64_t{1} << 30) : left_(all) {}  // by default a few seconds' work
    // False if there are not so many left, and from then on.
    bool Take(size_t count);

   private:
    int64_t left_;  // negative: there were too few for a call
  };

  TranslationMemory() = default;
  // With the entries of `shared` as if they had been added here first; null: none. `shared` lives as long as this and
  // its copies, must not change from now on, and shares none itself.
  explicit TranslationMemory(std::shared_ptr<const TranslationMemory> shared);

  // `mime_type` is one of memory_file.h. If a segment has two translations, the later one is used. Languages are BCP 47
  // tags; in TMX their primary subtags are searched, the other kinds have only one pair. INVALID_ARGUMENT names the
  // line. Limits are those of a document; max_units bounds the entries (RESOURCE_EXHAUSTED). `languages`, if not null,
  // gets the primary subtags of all languages of a TMX file.
  static absl::StatusOr<TranslationMemory> Load(std::string_view bytes, std::string_view mime_type,
                                                std::string_view source_language, std::string_view target_language,
                                                const DocumentLimits& limits = {},
                                                std::set<std::string>* languages = nullptr);

  // Adds the entries of another memory, which take precedence.
  void Add(const TranslationMemory& other);
  // The translation without white space at its ends, and with a space for a line break: as that of a segment.
  void Add(std::string_view source, std::string_view translation);

  size_t size() const { return shared_entries() + entries_.size(); }

  // The translation of the same text, with runs of white space as one space; nullptr if there is none. Valid until the
  // next Add.
  const std::string* Find(std::string_view source) const;

  // Fuzzy matches, best first: at most `most`, with a score of at least `least`. Compares the 64 entries that share the
  // most words; rare words count more. None once there are no steps left.
  std::vector<Suggestion> FindAlike(std::string_view source, Steps& steps, double least = 0.7, size_t most = 3) const;

 private:
  struct Entry {
    std::string source, translation;  // source with single spaces
    std::vector<uint32_t> words;      // their numbers, in order
  };
  // Entries and words are numbered from 0, in the order in which they were added: those of the shared part first.
  uint32_t shared_entries() const { return shared_ == nullptr ? 0 : static_cast<uint32_t>(shared_->entries_.size()); }
  uint32_t shared_words() const { return shared_ == nullptr ? 0 : static_cast<uint32_t>(shared_->words_.size()); }
  uint32_t word_count() const { return shared_words() + static_cast<uint32_t>(words_.size()); }
  const Entry& entry(uint32_t number) const;
  const std::string& translation(uint32_t number) const;
  std::optional<uint32_t> EntryOf(const std::string& source) const;  // with single spaces
  std::optional<uint32_t> WordOf(const std::string& word) const;     // in small letters
  uint32_t MakeWord(const std::string& word);
  absl::Span<const uint32_t> OwnEntriesWith(uint32_t word) const;
  size_t CountWith(uint32_t word) const;  // entries of both parts that have the word
  // The entries to compare a segment of these words with.
  std::vector<uint32_t> Candidates(const std::vector<uint32_t>& words, Steps& steps) const;

  std::shared_ptr<const TranslationMemory> shared_;     // null: none
  std::unordered_map<uint32_t, std::string> replaced_;  // translations of entries of the shared part
  // Of this part.
  std::vector<Entry> entries_;
  std::unordered_map<std::string, uint32_t> by_source_;
  std::unordered_map<std::string, uint32_t> words_;
  // By word, of either part: the entries here that have it, without duplicates.
  std::unordered_map<uint32_t, std::vector<uint32_t>> with_word_;
};

}  // namespace salient
