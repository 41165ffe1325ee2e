// Documents in a KV store, for tests of selection and attention: scattered pages, filled with random keys.

#pragma once

#include <cstdint>
#include <numeric>
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

  // Takes pages with gaps, so that a document's pages are not adjacent.
  TestDocument Add(int32_t positions) {
    TestDocument document;
    document.positions = positions;
    for (int32_t i = 0; i < KvStore::PagesFor(positions); ++i) {
      if (i % 2 == 1) store_.Take();
      document.pages.push_back(store_.Take());
    }
    return document;
  }

  // Number of pages, including gaps, for `documents` documents of `positions` positions in all.
  static int32_t PagesWithGaps(int64_t positions, int32_t documents) {
    return 2 * (KvStore::PagesFor(positions) + documents);
  }

 private:
  KvStore store_;
};

// The view of the first `length` visible positions of a document.
inline KeyView ViewOf(const TestDocument& document, int32_t length) {
  return {.pages = document.pages.data(),
          .candidates = document.candidates.empty() ? nullptr : document.candidates.data(),
          .length = length};
}

// Writes the keys and values of all of a document's positions, [positions, 2 * width], to a layer.
inline void AppendAll(Backend& backend, TestStore& store, const TestDocument& document, int32_t layer,
                      const std::vector<float>& key_value) {
  const std::vector<KeyView> views(document.positions, ViewOf(document, 0));
  std::vector<int32_t> positions(document.positions);
  std::iota(positions.begin(), positions.end(), 0);
  backend.AppendKeyValue({.rows = Rows::First(document.positions),
                          .key_value = key_value.data(),
                          .store = store.pages(),
                          .layer = layer,
                          .views = views.data(),
                          .positions = positions.data()});
}

// The same of its selection keys, [positions, selection width], to a group.
inline void AppendAllSelection(Backend& backend, TestStore& store, const TestDocument& document, int32_t group,
                               const std::vector<float>& keys, float key_inverse_step) {
  const std::vector<KeyView> views(document.positions, ViewOf(document, 0));
  std::vector<int32_t> positions(document.positions);
  std::iota(positions.begin(), positions.end(), 0);
  backend.AppendSelection({.rows = Rows::First(document.positions),
                           .keys = keys.data(),
                           .key_inverse_step = key_inverse_step,
                           .store = store.pages(),
                           .group = group,
                           .views = views.data(),
                           .positions = positions.data()});
}

}  // namespace salient
