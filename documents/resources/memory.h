// A translation memory: segments with their translations, with exact and fuzzy lookup.
//
// Loaded from TMX, PO or lines of source, tab, translation. Thread safe once loaded, and immutable but for the steps
// that FindAlike has left.

#pragma once

#include <atomic>
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
  // `steps`: of FindAlike, for all of its calls; by default a few seconds' work.
  explicit TranslationMemory(int64_t steps = int64_t{1} << 30) : steps_(steps) {}

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
  // most words; rare words count more. None once it has taken all its steps: an entry that it looks at is one, and so
  // is a pair of words that it compares. A copy has them all again, so a memory of its own bounds the time for a
  // document.
  std::vector<Suggestion> FindAlike(std::string_view source, double least = 0.7, size_t most = 3) const;

 private:
  class Steps {  // of FindAlike
   public:
    explicit Steps(int64_t all) : all_(all), left_(all) {}
    Steps(const Steps& other) : Steps(other.all_) {}
    Steps& operator=(const Steps& other) {
      all_ = other.all_;
      left_ = all_;
      return *this;
    }
    // False if there are not so many left, and from then on.
    bool Take(size_t count) const {
      const auto taken = static_cast<int64_t>(count);
      return left_.load() >= 0 && left_.fetch_sub(taken) >= taken;
    }

   private:
    int64_t all_;
    mutable std::atomic<int64_t> left_;  // negative: there were too few for a call
  };
  struct Entry {
    std::string source, translation;  // source with single spaces
    std::vector<uint32_t> words;      // indexes in word_entries_, in order
  };
  uint32_t WordIndex(std::string_view word);
  // The entries to compare a segment of these words with.
  std::vector<uint32_t> Candidates(const std::vector<uint32_t>& words) const;

  std::vector<Entry> entries_;
  std::unordered_map<std::string, uint32_t> by_source_;
  std::unordered_map<std::string, uint32_t> word_index_;
  std::vector<std::vector<uint32_t>> word_entries_;  // by word: the entries that have it, without duplicates
  Steps steps_;
};

}  // namespace salient
