// Attention on the CPU. Queries of decoding steps, and sparse ones, fetch their own rows of K and V; where a document
// brings many queries that read much of it, as in an encoder, they share tiles (attend_tiles.h). Which way is taken
// follows from a document's own rows, group by group.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/attention/attend.h"
#include "engine/attention/attend_tiles.h"
#include "engine/attention/kernels.h"
#include "engine/attention/tiles.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

// How the heads of each row are cut into tasks. A head's result is the same whichever task it is in.
struct HeadSplit {
  int32_t heads_a_task = 0, tasks_a_row = 0;
};

int32_t KeysRead(const AttendArgs& args, int32_t row) {
  const int32_t listed = args.lists == nullptr ? kEveryKey : args.lists[row].count;
  return listed == kEveryKey ? args.views[row].length : listed;
}

// One task a row keeps a key's row of memory together; few rows are cut by heads so that every thread has a share.
HeadSplit SplitHeads(const AttendArgs& args, int32_t rows, int64_t work, int threads) {
  int32_t parts = (args.heads + kMostHeadsInTask - 1) / kMostHeadsInTask;
  if (rows < 2 * threads && work >= 2 * kWorthAThread) parts = std::max(parts, std::min(args.heads, threads));
  const int32_t each = (args.heads + parts - 1) / parts;
  return {each, (args.heads + each - 1) / each};
}

class RowAttention {
 public:
  RowAttention(const AttendArgs& args, const AttendKernels& kernels)
      : args_(args),
        attend_(args.store.layout.type == ElementType::kBF16 ? kernels.attend_bf16 : kernels.attend_f32),
        head_width_(args.store.layout.width / args.heads) {}

  // Heads [first, first + count) of the i-th row.
  void Run(int64_t i, int32_t first, int32_t count) const {
    const KvLayout& layout = args_.store.layout;
    const size_t at = static_cast<size_t>(i) * layout.width + static_cast<size_t>(first) * head_width_;
    AttendTask task;
    const std::vector<const std::byte*>& keys =
        FindKeys(args_.rows[static_cast<int32_t>(i)], static_cast<size_t>(first) * head_width_);
    task.keys = keys.data();
    task.count = static_cast<int32_t>(keys.size());
    task.value_offset = layout.width * layout.element_bytes();
    task.query = args_.queries + at;
    task.output = args_.output + at;
    task.heads = count;
    task.head_width = head_width_;
    attend_(task);
  }

 private:
  // Where element `first` of every key that the row reads lies; valid until this thread's next call.
  const std::vector<const std::byte*>& FindKeys(int32_t row, size_t first) const {
    thread_local std::vector<const std::byte*> keys;
    const KeyView& view = args_.views[row];
    const int32_t* listed = view.candidates;
    int32_t count = view.length;
    if (args_.lists != nullptr && args_.lists[row].count != kEveryKey) {
      listed = args_.lists[row].positions;
      count = args_.lists[row].count;
    }
    keys.resize(count);
    const size_t offset = first * args_.store.layout.element_bytes();
    for (int32_t j = 0; j < count; ++j) {
      const int32_t position = listed == nullptr ? j : listed[j];
      keys[j] = args_.store.Key<const std::byte>(args_.layer, view.pages, position) + offset;
    }
    return keys;
  }

  const AttendArgs& args_;
  void (*attend_)(const AttendTask&);
  int32_t head_width_;
};

void CountKeys(const AttendArgs& args, std::span<const int32_t> rows) {
  if (args.tallies == nullptr) return;
  for (const int32_t i : rows) {
    const int32_t row = args.rows[i];
    const int32_t read = KeysRead(args, row);
    args.tallies[row].visible += args.views[row].length;
    args.tallies[row].attended += read;
    args.tallies[row].executed += read;
  }
}

// Query by query, each fetching its own keys. `rows` are indices into the call's.
void AttendRows(const AttendArgs& args, std::span<const int32_t> rows, ThreadPool& pool) {
  if (rows.empty()) return;
  const RowAttention attention(args, AttentionKernelsFor(DetectCpuIsa()).attend);
  int64_t work = 0;
  for (const int32_t i : rows) {
    work += int64_t{4} * KeysRead(args, args.rows[i]) * args.store.layout.width;
  }
  const HeadSplit split = SplitHeads(args, static_cast<int32_t>(rows.size()), work, pool.threads());
  const int64_t tasks = static_cast<int64_t>(rows.size()) * split.tasks_a_row;
  ParallelRanges(pool, tasks, work / tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int32_t first = static_cast<int32_t>(task % split.tasks_a_row) * split.heads_a_task;
      attention.Run(rows[task / split.tasks_a_row], first, std::min(split.heads_a_task, args.heads - first));
    }
  });
  CountKeys(args, rows);
}

}  // namespace

void AppendKeyValueCpu(const AppendKeyValueArgs& args, ThreadPool& pool) {
  const AttendKernels& kernels = AttentionKernelsFor(DetectCpuIsa()).attend;
  const int32_t elements = 2 * args.store.layout.width;
  ParallelRanges(pool, args.rows.size(), elements * 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t row = args.rows[static_cast<int32_t>(i)];
      const float* source = args.key_value + i * elements;
      const int32_t* pages = args.views[row].pages;
      if (args.store.layout.type == ElementType::kBF16) {
        kernels.to_bf16(source, elements, args.store.Key<uint16_t>(args.layer, pages, args.positions[row]));
      } else {
        std::copy_n(source, elements, args.store.Key<float>(args.layer, pages, args.positions[row]));
      }
    }
  });
}

void AttendCpu(const AttendArgs& args, ThreadPool& pool) {
  thread_local std::vector<int32_t> one_by_one, groups;
  one_by_one.clear();
  for (int32_t first = 0; first < args.rows.size();) {
    const RowRange document = DocumentRows(args, first);
    const bool tiles = TilesTake(args, document);
    groups.clear();
    while (first < document.last) {
      const RowRange group = {first, std::min(first + kTileQueries, document.last)};
      first = group.last;
      if (tiles && WorthTiles(args, group)) {
        groups.push_back(group.first);
      } else {
        for (int32_t i = group.first; i < group.last; ++i) one_by_one.push_back(i);
      }
    }
    if (!groups.empty()) AttendTiles(args, document, groups, pool);
  }
  AttendRows(args, one_by_one, pool);
}

}  // namespace salient
