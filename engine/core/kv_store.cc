#include "engine/core/kv_store.h"

#include <algorithm>

#include "engine/core/host_memory.h"

namespace salient {

// Neighbours go together, for memory is given back by whole pages of the system, which ours share.
void KvStore::Trim() {
  std::vector<int32_t> pages(free_.end() - static_cast<std::ptrdiff_t>(resident_free_), free_.end());
  std::sort(pages.begin(), pages.end());
  const size_t bytes = layout_.page_bytes();
  for (size_t begin = 0, end = 0; begin < pages.size(); begin = end) {
    for (end = begin + 1; end < pages.size() && pages[end] == pages[end - 1] + 1;) ++end;
    ReturnToSystem(bytes_.data() + static_cast<size_t>(pages[begin]) * bytes, (end - begin) * bytes);
  }
  resident_free_ = 0;
}

}  // namespace salient
