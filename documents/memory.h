// A translation memory: segments with their translations, with exact and fuzzy lookup.
//
// Loaded from TMX, PO or lines of source, tab, translation. Immutable once loaded, and thread safe.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"

namespace salient {

struct Suggestion {
  std::string source, translation;
  double score = 0;  // 1 - word edits / words of the longer one; 1: equal except for white space
};

class TranslationMemory {
 public:
  // `mime_type` is one of memory_file.h. If a segment has two translations, the later one is used. Languages are BCP 47
  // tags; in TMX their primary subtags are searched, the other kinds have only one pair. INVALID_ARGUMENT names the
  // line. Limits are those of a document; max_units bounds the entries (RESOURCE_EXHAUSTED).
  static absl::StatusOr<TranslationMemory> Load(std::string_view bytes, std::string_view mime_type,
                                                std::string_view source_language, std::string_view target_language,
                                                const DocumentLimits& limits = {});

  // Adds the entries of another memory, which take precedence.
  void Add(const TranslationMemory& other);
  void Add(std::string_view source, std::string_view translation);

  size_t size() const { return entries_.size(); }

  // The translation of the same text, with runs of white space as one space; nullptr if there is none.
  const std::string* Find(std::string_view source) const;

  // Fuzzy matches, best first: at most `most`, with a score of at least `least`. Compares the 64 entries that share the
  // most words; rare words count more.
  std::vector<Suggestion> FindAlike(std::string_view source, double least = 0.7, size_t most = 3) const;

 private:
  struct Entry {
    std::string source, translation;  // source with single spaces
    std::vector<uint32_t> words;      // indexes in word_entries_, in order
  };
  uint32_t WordIndex(std::string_view word);

  std::vector<Entry> entries_;
  std::unordered_map<std::string, uint32_t> by_source_;
  std::unordered_map<std::string, uint32_t> word_index_;
  std::vector<std::vector<uint32_t>> word_entries_;  // by word: the entries that have it, without duplicates
};

}  // namespace salient
