#include "engine/attention/attend_tiles.h"

#include <algorithm>
#include <vector>

#include "engine/attention/tiles.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

// More rows than hypotheses of a beam share a document, so that decoding never changes its kernel when one of them
// ends, and enough to pay for packing the document's keys.
constexpr int32_t kLeastRows = 32;

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

struct Scratch {
  std::vector<uint64_t> masks;    // [rows][pages]
  std::vector<CacheLine> packed;  // [heads][pages]
  // Whose keys are packed.
  const std::byte* store = nullptr;
  const int32_t* document = nullptr;
  int32_t layer = 0, length = 0;
};

Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

const KeyView& ViewAt(const AttendArgs& args, int32_t i) { return args.views[args.rows[i]]; }

int32_t KeysRead(const AttendArgs& args, int32_t i) {
  const int32_t row = args.rows[i];
  const int32_t listed = args.lists == nullptr ? kEveryKey : args.lists[row].count;
  return listed == kEveryKey ? args.views[row].length : listed;
}

const TileKernels& KernelsOf(const AttendArgs& args) {
  return TileKernelsFor(DetectCpuIsa(), args.store.layout.width / args.heads, args.store.layout.type);
}

class TileRun {
 public:
  TileRun(const AttendArgs& args, const RowRange& rows, std::span<const int32_t> firsts, ThreadPool& pool,
          Scratch& scratch)
      : args_(args), rows_(rows), firsts_(firsts), pool_(pool), scratch_(scratch), kernels_(KernelsOf(args)) {
    for (int32_t i = rows.first; i < rows.last; ++i) length_ = std::max(length_, ViewAt(args, i).length);
    pages_ = KvStore::PagesFor(length_);
    head_width_ = args.store.layout.width / args.heads;
    page_lines_ = (kernels_.packed_bytes(head_width_) + sizeof(CacheLine) - 1) / sizeof(CacheLine);
    scratch.masks.assign(static_cast<size_t>(rows.size()) * pages_, 0);
    const size_t lines = page_lines_ * pages_ * args.heads;
    if (scratch.packed.size() < lines) scratch.packed.resize(lines);
  }

  void Run() {
    ParallelRanges(pool_, rows_.size(), int64_t{length_}, [this](int64_t begin, int64_t end) {
      for (int64_t q = begin; q < end; ++q) MakeMask(static_cast<int32_t>(q));
    });
    const int64_t page_work = int64_t{kPagePositions} * head_width_;
    if (!PackedBefore()) {
      ParallelRanges(pool_, int64_t{args_.heads} * pages_, page_work * 8, [this](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) Pack(static_cast<int32_t>(i / pages_), static_cast<int32_t>(i % pages_));
      });
    }
    // Head by head: a head's packed keys fit into the second-level cache, all heads' do not.
    const int32_t tiles = static_cast<int32_t>(firsts_.size());
    ParallelRanges(pool_, int64_t{args_.heads} * tiles, page_work * kTileQueries * pages_ / 4,
                   [this, tiles](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       Attend(static_cast<int32_t>(i / tiles), firsts_[i % tiles] - rows_.first);
                     }
                   });
  }

 private:
  // Whether the last run has packed the same keys. Notes that they are packed now.
  bool PackedBefore() {
    const std::byte* store = args_.store.base;
    const int32_t* document = ViewAt(args_, rows_.first).pages;
    const bool same = scratch_.store == store && scratch_.document == document && scratch_.layer == args_.layer &&
                      scratch_.length == length_;
    scratch_.store = store;
    scratch_.document = document;
    scratch_.layer = args_.layer;
    scratch_.length = length_;
    return args_.same_keys && same;
  }

  void MakeMask(int32_t q) {
    uint64_t* mask = scratch_.masks.data() + static_cast<size_t>(q) * pages_;
    const int32_t row = args_.rows[rows_.first + q];
    const int32_t length = args_.views[row].length;
    if (args_.lists == nullptr || args_.lists[row].count == kEveryKey) {
      for (int32_t page = 0; page < length / kPagePositions; ++page) mask[page] = ~uint64_t{0};
      const int32_t rest = length % kPagePositions;
      if (rest > 0) mask[length / kPagePositions] = (uint64_t{1} << rest) - 1;
      return;
    }
    const KeyList& list = args_.lists[row];
    for (int32_t j = 0; j < list.count; ++j) {
      mask[list.positions[j] / kPagePositions] |= uint64_t{1} << list.positions[j] % kPagePositions;
    }
  }

  CacheLine* Packed(int32_t head, int32_t page) {
    return scratch_.packed.data() + (static_cast<size_t>(head) * pages_ + page) * page_lines_;
  }

  void Pack(int32_t head, int32_t page) {
    const KvLayout& layout = args_.store.layout;
    const std::byte* row =
        args_.store.Key<const std::byte>(args_.layer, ViewAt(args_, rows_.first).pages, page * kPagePositions);
    PackTask task;
    task.keys = row + static_cast<size_t>(head) * head_width_ * layout.element_bytes();
    task.row_bytes = layout.row_bytes();
    task.value_offset = layout.width * layout.element_bytes();
    task.count = std::min(kPagePositions, length_ - page * kPagePositions);
    task.head_width = head_width_;
    task.packed = Packed(head, page)->bytes;
    (layout.type == ElementType::kBF16 ? kernels_.pack_bf16 : kernels_.pack_f32)(task);
  }

  // A head of the group whose first query is the document's q-th.
  void Attend(int32_t head, int32_t q) {
    const size_t width = args_.store.layout.width;
    const size_t at = static_cast<size_t>(rows_.first + q) * width + static_cast<size_t>(head) * head_width_;
    TileTask task;
    task.queries = args_.queries + at;
    task.output = args_.output + at;
    task.stride = width;
    task.count = std::min(kTileQueries, rows_.size() - q);
    task.pages = pages_;
    task.masks = scratch_.masks.data() + static_cast<size_t>(q) * pages_;
    task.packed = pages_ == 0 ? nullptr : Packed(head, 0)->bytes;
    task.head_width = head_width_;
    const int32_t worked = kernels_.attend(task);
    if (head == 0 && args_.tallies != nullptr) Count(q, task.count, worked);
  }

  void Count(int32_t q, int32_t count, int32_t worked) {
    for (int32_t i = rows_.first + q; i < rows_.first + q + count; ++i) {
      AttentionTally& tally = args_.tallies[args_.rows[i]];
      tally.visible += ViewAt(args_, i).length;
      tally.attended += KeysRead(args_, i);
      tally.executed += int64_t{worked} * kPagePositions;
    }
  }

  const AttendArgs& args_;
  const RowRange rows_;
  const std::span<const int32_t> firsts_;
  ThreadPool& pool_;
  Scratch& scratch_;
  const TileKernels& kernels_;
  int32_t length_ = 0, pages_ = 0, head_width_ = 0;
  size_t page_lines_ = 0;
};

}  // namespace

RowRange DocumentRows(const AttendArgs& args, int32_t first) {
  RowRange rows = {first, first + 1};
  const KeyView& view = ViewAt(args, first);
  if (view.candidates != nullptr) return rows;
  while (rows.last < args.rows.size() && ViewAt(args, rows.last).pages == view.pages &&
         ViewAt(args, rows.last).candidates == nullptr) {
    ++rows.last;
  }
  return rows;
}

bool TilesTake(const AttendArgs& args, const RowRange& document) {
  return document.size() >= kLeastRows &&
         KernelsOf(args).takes(args.store.layout.width / args.heads, args.store.layout.type);
}

bool WorthTiles(const AttendArgs& args, const RowRange& group) {
  int64_t visible = 0, read = 0;
  for (int32_t i = group.first; i < group.last; ++i) {
    visible += ViewAt(args, i).length;
    read += KeysRead(args, i);
  }
  return static_cast<double>(read) >= KernelsOf(args).least_density * static_cast<double>(visible);
}

void ForgetPackedKeys(const AttendArgs& args) {
  Scratch& scratch = ThreadScratch();
  if (!args.same_keys && scratch.store == args.store.base) scratch.store = nullptr;
}

void AttendTiles(const AttendArgs& args, const RowRange& document, std::span<const int32_t> firsts, ThreadPool& pool) {
  TileRun(args, document, firsts, pool, ThreadScratch()).Run();
}

}  // namespace salient
