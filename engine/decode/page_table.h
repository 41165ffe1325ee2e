// The pages of one key store that a chunk holds, and the page table that kernels read.

#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/core/kv_store.h"
#include "engine/core/staging.h"

namespace salient {

// Takes pages as the chunk grows and returns all of them when it is destroyed. Not thread safe.
class PageTable {
 public:
  // Room for `most` pages. `store` and `staging` must outlive it.
  PageTable(KvStore& store, Staging& staging, int32_t most) : store_(store), table_(staging, most) {}
  ~PageTable() { store_.Return(taken_); }
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  // Takes pages until there are `pages`, and writes the host's side of the table. Admission must have reserved the
  // pages. Call it after the staging's Allocate.
  void GrowTo(int32_t pages) {
    SALIENT_CHECK(pages <= most());
    while (static_cast<int32_t>(taken_.size()) < pages) {
      table_.data()[taken_.size()] = store_.Take();
      taken_.push_back(table_.data()[taken_.size()]);
    }
  }
  // As GrowTo, and uploads the table.
  void GrowAndUpload(int32_t pages) {
    const size_t before = taken_.size();
    GrowTo(pages);
    if (taken_.size() > before) table_.Upload(before, taken_.size() - before);
  }

  const int32_t* device() const { return table_.device(); }
  int32_t most() const { return static_cast<int32_t>(table_.size()); }
  int64_t bytes() const { return static_cast<int64_t>(taken_.size() * store_.layout().page_bytes()); }

 private:
  KvStore& store_;
  StagedArray<int32_t> table_;
  std::vector<int32_t> taken_;
};

}  // namespace salient
