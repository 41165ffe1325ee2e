// The KV store as kernels on a CUDA device see it: KvPages with its strides worked out once, on the host.

#pragma once

#include "engine/core/cuda/language.h"
#include "engine/core/kv_store.h"

namespace salient::cuda {

struct PagesView {
  PagesView() = default;  // of no store
  explicit PagesView(const KvPages& store, int32_t layer = 0, int32_t group = 0)
      : base(reinterpret_cast<unsigned char*>(store.base)),
        layer_offset(layer * store.layout.layer_bytes()),
        group_offset(store.layout.group_offset(group)),
        exit_offset(store.layout.exit_offset()),
        row_bytes(static_cast<uint32_t>(store.layout.row_bytes())),
        scale_offset(static_cast<uint32_t>(store.layout.scale_offset())),
        width(store.layout.width),
        heads(store.layout.heads),
        selection_width(store.layout.selection_width) {}

  unsigned char* base = nullptr;
  size_t layer_offset = 0, group_offset = 0, exit_offset = 0;
  uint32_t row_bytes = 0, scale_offset = 0;
  int32_t width = 0, heads = 0, selection_width = 0;

  // Where in the store a position of a document is: all that its page table says.
  __device__ int32_t Slot(const int32_t* pages, int32_t position) const {
    return pages[position / kPagePositions] * kPagePositions + position % kPagePositions;
  }
  // K of a position, `width` elements; V follows.
  template <typename T>
  __device__ T* KeyAt(int32_t slot) const {
    return reinterpret_cast<T*>(base + static_cast<uint32_t>(slot / kPagePositions) * kPageUnit + layer_offset +
                                static_cast<uint32_t>(slot % kPagePositions) * row_bytes);
  }
  template <typename T>
  __device__ T* Key(const int32_t* pages, int32_t position) const {
    return KeyAt<T>(Slot(pages, position));
  }
  // int8: the scales of a position's K by head, then those of its V.
  __device__ float* Scales(const int32_t* pages, int32_t position) const {
    return reinterpret_cast<float*>(Key<unsigned char>(pages, position) + scale_offset);
  }
  // Word w (4 components) of the selection key of a position is at [w * kSelectionBlock] from here.
  __device__ int32_t* SelectionKey(const int32_t* pages, int32_t position) const {
    const int32_t within = position % kPagePositions;
    return reinterpret_cast<int32_t*>(base + pages[position / kPagePositions] * kPageUnit + group_offset) +
           within / kSelectionBlock * (kSelectionBlock / 4 * selection_width) + within % kSelectionBlock;
  }
  __device__ float* ExitState(const int32_t* pages, int32_t position) const {
    return reinterpret_cast<float*>(base + pages[position / kPagePositions] * kPageUnit + exit_offset) +
           static_cast<size_t>(position % kPagePositions) * width;
  }
};

}  // namespace salient::cuda
