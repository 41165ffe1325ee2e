// Attention on the CPU, in one of two ways. Queries of decoding steps and sparse queries each read their own rows of K
// and V (attend_rows.h). Where many queries read most of a document's pages, as in an encoder, they share tiles
// (attend_tiles.h). The choice is made for each group of a document's rows, and depends only on that document's rows.

#include "engine/attention/attend.h"

#include <algorithm>
#include <vector>

#include "engine/attention/cpu/attend_rows.h"
#include "engine/attention/cpu/attend_tiles.h"
#include "engine/attention/cpu/kernels.h"
#include "engine/attention/cpu/operations.h"
#include "engine/attention/quantise.h"
#include "engine/base/parallel.h"

namespace salient {

namespace {

// Stores K, then V: every head as int8 with its own scale.
void StoreInt8(const AttentionKernels& kernels, const float* key_value, const KvLayout& layout, int8_t* components,
               float* scales) {
  const int32_t head_width = layout.width / layout.heads;
  for (int32_t i = 0; i < 2 * layout.heads; ++i) {
    const float* head = key_value + static_cast<size_t>(i) * head_width;
    const float largest = kernels.select.largest(head, head_width);
    kernels.select.quantise(head, head_width, QuantisationFactor(largest), components + i * head_width);
    scales[i] = QuantisationStep(largest);
  }
}

}  // namespace

void AppendKeyValueCpu(const AppendKeyValueArgs& args, ThreadPool& pool) {
  const AttentionKernels& kernels = AttentionKernelsFor(DetectCpuIsa());
  const KvLayout& layout = args.store.layout;
  const int32_t elements = 2 * layout.width;
  ParallelRanges(pool, args.rows.size(), elements * 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t row = args.rows[static_cast<int32_t>(i)], position = args.positions[row];
      const float* source = args.key_value + i * elements;
      const int32_t* pages = args.views[row].pages;
      switch (layout.type) {
        case ElementType::kF32:
          std::copy_n(source, elements, args.store.Key<float>(args.layer, pages, position));
          break;
        case ElementType::kBF16:
          kernels.attend.to_bf16(source, elements, args.store.Key<uint16_t>(args.layer, pages, position));
          break;
        case ElementType::kInt8:
          StoreInt8(kernels, source, layout, args.store.Key<int8_t>(args.layer, pages, position),
                    args.store.Scales(args.layer, pages, position));
          break;
      }
    }
  });
}

void AttendCpu(const AttendArgs& args, ThreadPool& pool) {
  thread_local std::vector<int32_t> one_by_one;
  one_by_one.clear();
  ForgetPackedKeys(args);
  for (int32_t first = 0; first < args.rows.size();) {
    const RowRange document = DocumentRows(args, first);
    first = document.last;
    AttendTiles(args, document, LeastTileDensity(args), pool, one_by_one);
  }
  AttendRows(args, one_by_one, pool);
}

}  // namespace salient
