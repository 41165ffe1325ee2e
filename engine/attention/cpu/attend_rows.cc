#include "engine/attention/cpu/attend_rows.h"

#include <algorithm>
#include <vector>

#include "engine/attention/cpu/kernels.h"
#include "engine/base/parallel.h"

namespace salient {
namespace {

// A range of heads of one row. A head's result does not depend on the task that computes it.
struct HeadTask {
  int32_t row = 0, first_head = 0, heads = 0;
};

// Divides the rows' heads into tasks, and the tasks into shares of about equal work; shares[s] is the end of share s. A
// row is usually one task, because a key's heads are adjacent in memory. If a row is longer than a share, such as a
// long document among short ones, it is divided by heads, so that every thread gets a part of it.
struct Division {
  std::vector<HeadTask> tasks;
  std::vector<int32_t> shares;
};

int64_t WorkOf(const AttendArgs& args, int32_t i) { return int64_t{4} * KeysRead(args, i) * args.store.layout.width; }

void Divide(const AttendArgs& args, std::span<const int32_t> rows, int threads, Division& division) {
  constexpr int32_t kSharesAThread = 4;  // several shares per thread balance threads that get interrupted
  int64_t total = 0;
  for (const int32_t i : rows) total += WorkOf(args, i);
  const bool alone = threads == 1 || total < 2 * kWorthAThread;
  const int64_t share = alone ? total + 1 : std::max(kWorthAThread, total / (threads * kSharesAThread));
  const int32_t least_parts = (args.heads + kMostHeadsInTask - 1) / kMostHeadsInTask;
  const int32_t most_parts = std::max(least_parts, std::min(args.heads, threads));
  division.tasks.clear();
  division.shares.clear();
  int64_t filled = 0;
  for (const int32_t i : rows) {
    const int64_t work = WorkOf(args, i);
    const int32_t parts =
        static_cast<int32_t>(std::clamp<int64_t>((work + share - 1) / share, least_parts, most_parts));
    const int32_t each = (args.heads + parts - 1) / parts;
    for (int32_t head = 0; head < args.heads; head += each) {
      division.tasks.push_back({i, head, std::min(each, args.heads - head)});
      filled += work / parts;
      if (filled < share) continue;
      division.shares.push_back(static_cast<int32_t>(division.tasks.size()));
      filled = 0;
    }
  }
  const auto all = static_cast<int32_t>(division.tasks.size());
  if (division.shares.empty() || division.shares.back() < all) division.shares.push_back(all);
}

void (*KernelFor(ElementType type, const AttendKernels& kernels))(const AttendTask&) {
  switch (type) {
    case ElementType::kF32:
      return kernels.attend_f32;
    case ElementType::kBF16:
      return kernels.attend_bf16;
    case ElementType::kInt8:
      break;
  }
  return kernels.attend_int8;
}

class RowAttention {
 public:
  RowAttention(const AttendArgs& args, const AttendKernels& kernels)
      : args_(args),
        attend_(KernelFor(args.store.layout.type, kernels)),
        head_width_(args.store.layout.width / args.heads) {}

  void Run(const HeadTask& heads) const {
    const KvLayout& layout = args_.store.layout;
    const size_t first = static_cast<size_t>(heads.first_head) * head_width_;
    const size_t at = static_cast<size_t>(heads.row) * layout.width + first;
    const std::vector<const std::byte*>& keys = FindKeys(args_.rows[heads.row], first);
    AttendTask task;
    task.keys = keys.data();
    task.count = static_cast<int32_t>(keys.size());
    task.value_offset = layout.width * layout.element_bytes();
    task.key_scale = layout.scale_offset() - first + heads.first_head * sizeof(float);
    task.value_scale = task.key_scale + args_.heads * sizeof(float);
    task.query = args_.queries + at;
    task.output = args_.output + at;
    task.heads = heads.heads;
    task.head_width = head_width_;
    attend_(task);
  }

 private:
  // The addresses of element `first` of every key that the row reads. Valid until this thread's next call.
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
    const int32_t read = KeysRead(args, i);
    args.tallies[row].visible += args.views[row].length;
    args.tallies[row].attended += read;
    args.tallies[row].executed += read;
  }
}

}  // namespace

int32_t KeysRead(const AttendArgs& args, int32_t i) {
  const int32_t row = args.rows[i];
  const int32_t listed = args.lists == nullptr ? kEveryKey : args.lists[row].count;
  return listed == kEveryKey ? args.views[row].length : listed;
}

void AttendRows(const AttendArgs& args, std::span<const int32_t> rows, ThreadPool& pool) {
  if (rows.empty()) return;
  const RowAttention attention(args, AttentionKernelsFor(DetectCpuIsa()).attend);
  thread_local Division division;
  Divide(args, rows, pool.threads(), division);
  const auto run = [&attention, division = &division](int64_t share, int) {
    const int32_t begin = share == 0 ? 0 : division->shares[share - 1];
    for (int32_t task = begin; task < division->shares[share]; ++task) attention.Run(division->tasks[task]);
  };
  pool.ParallelFor(static_cast<int64_t>(division.shares.size()), run);
  CountKeys(args, rows);
}

}  // namespace salient
