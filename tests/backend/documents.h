// Documents in a KV store, for tests of selection and attention: scattered pages, filled with random keys.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/backend.h"

namespace salient {

struct TestDocument {
  std::vector<int32_t> pages;
  std::vector<int32_t> candidates;  // empty: all positions are visible
  int32_t positions = 0;            // stored
};

class TestStore {
 public:
  TestStore(Backend& backend, const KvLayout& layout, int32_t pages) : store_(backend.memory(), layout, pages) {}

  KvPages pages() { return store_.pages(); }

  // Pages are taken in turns of one and two, so that a document's pages do not lie side by side.
  TestDocument Add(int32_t positions) {
    TestDocument document;
    document.positions = positions;
    for (int32_t i = 0; i < KvStore::PagesFor(positions); ++i) {
      if (i % 2 == 1) store_.Take();
      document.pages.push_back(store_.Take());
    }
    return document;
  }

  // How many pages documents of these many positions need with the gaps.
  static int32_t PagesWithGaps(int64_t positions, int32_t documents) {
    return 2 * (KvStore::PagesFor(positions) + documents);
  }

 private:
  KvStore store_;
};

// What the first `length` visible positions of a document are.
inline KeyView ViewOf(const TestDocument& document, int32_t length) {
  return {.pages = document.pages.data(),
          .candidates = document.candidates.empty() ? nullptr : document.candidates.data(),
          .length = length};
}

}  // namespace salient
