#include "engine/attention/cpu/attend_tiles.h"

#include <algorithm>

#include "engine/attention/cpu/attend_rows.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

// More rows than a beam has hypotheses, so that decoding does not change its kernel when a hypothesis ends. Also enough
// rows to pay for packing the document's keys.
constexpr int32_t kLeastRows = 32;

static_assert(kQueryPart % kGroupQueries == 0, "parts of a document must be cut where groups are");

struct alignas(64) CacheLine {
  std::byte bytes[64];
};

struct TileScratch {
  TilePlan plan;
  std::vector<int32_t> groups;    // the plan's groups that use tiles
  std::vector<CacheLine> packed;  // [heads][pages]
  // The keys that are packed now.
  const std::byte* store = nullptr;
  const int32_t* document = nullptr;
  int32_t layer = 0, length = 0;
};

TileScratch& ThreadTileScratch() {
  thread_local TileScratch scratch;
  return scratch;
}

const TileKernels& KernelsOf(const AttendArgs& args) {
  return TileKernelsFor(DetectCpuIsa(), args.store.layout.width / args.heads, args.store.layout.type);
}

// Computes the groups of a plan that use tiles.
class TileRun {
 public:
  TileRun(const AttendArgs& args, ThreadPool& pool, const TileKernels& kernels, TileScratch& scratch)
      : args_(args),
        pool_(pool),
        kernels_(kernels),
        scratch_(scratch),
        plan_(scratch.plan),
        head_width_(args.store.layout.width / args.heads),
        page_lines_((kernels.packed_bytes(head_width_) + sizeof(CacheLine) - 1) / sizeof(CacheLine)) {}

  void Run() {
    PackDocument();
    // Group after group, for only as many heads at once as have their packed keys in the second-level cache together.
    const auto groups = static_cast<int32_t>(scratch_.groups.size());
    const int32_t at_once = HeadsAtOnce();
    const int64_t work = int64_t{kPagePositions} * head_width_ * kGroupQueries * plan_.pages() / 4;
    ParallelRanges(pool_, int64_t{args_.heads} * groups, work, [=, this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto first_head = static_cast<int32_t>(i / (int64_t{at_once} * groups)) * at_once;
        const int32_t heads = std::min(at_once, args_.heads - first_head);
        const auto within = static_cast<int32_t>(i - int64_t{first_head} * groups);
        Attend(first_head + within % heads, plan_[scratch_.groups[within / heads]]);
      }
    });
    if (args_.tallies == nullptr) return;
    for (const int32_t group : scratch_.groups) Count(plan_[group]);
  }

 private:
  const int32_t* PageTable() const { return ViewAt(args_, plan_[0].rows.first).pages; }

  // Whether the previous run packed the same keys. Records that these keys are packed now.
  bool PackedBefore() {
    const std::byte* store = args_.store.base;
    const bool same = scratch_.store == store && scratch_.document == PageTable() && scratch_.layer == args_.layer &&
                      scratch_.length == plan_.length();
    scratch_.store = store;
    scratch_.document = PageTable();
    scratch_.layer = args_.layer;
    scratch_.length = plan_.length();
    return args_.same_keys && same;
  }

  void PackDocument() {
    const size_t lines = page_lines_ * plan_.pages() * args_.heads;
    if (scratch_.packed.size() < lines) scratch_.packed.resize(lines);
    if (PackedBefore()) return;
    // Page by page, because the heads of a position are adjacent in memory.
    const int64_t work = int64_t{kPagePositions} * args_.store.layout.width * 4;
    ParallelRanges(pool_, plan_.pages(), work, [this](int64_t begin, int64_t end) {
      for (int64_t page = begin; page < end; ++page) {
        for (int32_t head = 0; head < args_.heads; ++head) Pack(head, static_cast<int32_t>(page));
      }
    });
  }

  int32_t HeadsAtOnce() const {
    constexpr size_t kCacheBytes = 1 << 20;  // about half of the second-level cache
    const size_t head_bytes = std::max<size_t>(1, page_lines_ * sizeof(CacheLine) * plan_.pages());
    return static_cast<int32_t>(std::clamp<size_t>(kCacheBytes / head_bytes, 1, args_.heads));
  }

  CacheLine* Packed(int32_t head, int32_t page) {
    return scratch_.packed.data() + (static_cast<size_t>(head) * plan_.pages() + page) * page_lines_;
  }

  void Pack(int32_t head, int32_t page) {
    const KvLayout& layout = args_.store.layout;
    const std::byte* row = args_.store.Key<const std::byte>(args_.layer, PageTable(), page * kPagePositions);
    PackTask task;
    task.keys = row + static_cast<size_t>(head) * head_width_ * layout.element_bytes();
    task.row_bytes = layout.row_bytes();
    task.value_offset = layout.width * layout.element_bytes();
    task.count = std::min(kPagePositions, plan_.length() - page * kPagePositions);
    task.head_width = head_width_;
    task.packed = Packed(head, page)->bytes;
    (layout.type == ElementType::kBF16 ? kernels_.pack_bf16 : kernels_.pack_f32)(task);
  }

  void Attend(int32_t head, const GroupPlan& group) {
    const size_t width = args_.store.layout.width;
    const size_t at = group.rows.first * width + static_cast<size_t>(head) * head_width_;
    TileTask task;
    task.queries = args_.queries + at;
    task.output = args_.output + at;
    task.stride = width;
    task.count = group.rows.size();
    task.pages = group.pages;
    task.places = group.places;
    task.masks = group.masks;
    task.packed = plan_.pages() == 0 ? nullptr : Packed(head, 0)->bytes;
    task.head_width = head_width_;
    kernels_.attend(task);
  }

  void Count(const GroupPlan& group) {
    for (int32_t i = group.rows.first; i < group.rows.last; ++i) {
      AttentionTally& tally = args_.tallies[args_.rows[i]];
      tally.visible += ViewAt(args_, i).length;
      tally.attended += KeysRead(args_, i);
      tally.executed += int64_t{group.tile_pages[(i - group.rows.first) / kTileQueries]} * kPagePositions;
    }
  }

  const AttendArgs& args_;
  ThreadPool& pool_;
  const TileKernels& kernels_;
  TileScratch& scratch_;
  const TilePlan& plan_;
  const int32_t head_width_;
  const size_t page_lines_;
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

void ForgetPackedKeys(const AttendArgs& args) {
  TileScratch& scratch = ThreadTileScratch();
  if (!args.same_keys && scratch.store == args.store.base) scratch.store = nullptr;
}

double LeastTileDensity(const AttendArgs& args) { return KernelsOf(args).least_density; }

void AttendTiles(const AttendArgs& args, const RowRange& document, double least_density, ThreadPool& pool,
                 std::vector<int32_t>& left) {
  const auto leave = [&left](const RowRange& rows) {
    for (int32_t i = rows.first; i < rows.last; ++i) left.push_back(i);
  };
  const TileKernels& kernels = KernelsOf(args);
  if (document.size() < kLeastRows || !kernels.takes(args.store.layout.width / args.heads, args.store.layout.type)) {
    return leave(document);
  }
  TileScratch& scratch = ThreadTileScratch();
  TilePlan& plan = scratch.plan;
  plan.Begin(args, document);
  ParallelRanges(pool, plan.groups(), int64_t{plan.length()} * kGroupQueries / 4, [&plan](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) plan.PlanGroup(static_cast<int32_t>(group));
  });
  scratch.groups.clear();
  for (int32_t group = 0; group < plan.groups(); ++group) {
    if (plan.Density(args, group) >= least_density) {
      scratch.groups.push_back(group);
    } else {
      leave(plan[group].rows);
    }
  }
  if (!scratch.groups.empty()) TileRun(args, pool, kernels, scratch).Run();
}

}  // namespace salient
