// Keys, values and selection keys of the documents in flight, in pages that are written once and never move.
//
// A page holds 64 positions of one document for all layers of a stack, so a document needs only one page table:
//
//   layer l      [64][2][width]             for each position the K row, then the V row, contiguous; f32, bf16 or int8
//                with int8 [64]([2][width], [2][heads] f32, padding to 16 bytes): the scales of K and V follow V
//   group g      [4][selection/4][16][4]    int8 selection keys, 16 keys by 4 bytes: the operand of a VNNI product
//   exit states  [64][width] f32            the state with which a position left the decoder (lazy fill); optional
//
// int8: component = round(x * 127 / max |x|), with the maximum over its head, ties to even. Its value is component *
// scale, with scale = max |x| / 127. The scale depends only on the position, so a translation does not depend on
// others.
//
// Position p of a document is at index p % 64 of page pages[p / 64], a number as in page_pool.h. With beam search a
// position is step * beam + hypothesis, and a hypothesis lists the positions of its own history.
//
// Thread safety: none; the step loop owns the store. Kernels of one operation write disjoint positions.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/core/element_type.h"
#include "engine/core/memory.h"
#include "engine/core/page_pool.h"

namespace salient {

inline constexpr int kPagePositions = 64;
inline constexpr int kSelectionBlock = 16;  // keys interleaved in a selection block

struct KvLayout {
  int32_t layers = 0;
  int32_t width = 0;            // of K, and of V: heads * head width
  int32_t heads = 0;            // needed for int8 only
  int32_t groups = 0;           // selection layers; 0 for a model without selection
  int32_t selection_width = 0;  // ds, a multiple of 4
  bool exit_states = false;
  ElementType type = ElementType::kF32;

  size_t element_bytes() const { return ElementBytes(type); }
  // Offset of a position's scales in its row; int8 only.
  size_t scale_offset() const { return (2 * static_cast<size_t>(width) + 3) / 4 * 4; }
  size_t row_bytes() const {
    if (type != ElementType::kInt8) return 2 * static_cast<size_t>(width) * element_bytes();
    return (scale_offset() + 2 * static_cast<size_t>(heads) * sizeof(float) + 15) / 16 * 16;
  }
  size_t layer_bytes() const { return kPagePositions * row_bytes(); }
  size_t group_bytes() const { return static_cast<size_t>(kPagePositions) * selection_width; }
  size_t group_offset(int32_t group) const { return layers * layer_bytes() + group * group_bytes(); }
  size_t exit_offset() const { return group_offset(groups); }
  int32_t page_units() const {
    const size_t bytes = exit_offset() + (exit_states ? kPagePositions * static_cast<size_t>(width) * 4 : 0);
    return static_cast<int32_t>((bytes + kPageUnit - 1) / kPageUnit);
  }
  size_t page_bytes() const { return static_cast<size_t>(page_units()) * kPageUnit; }
};

// The store as kernels see it.
struct KvPages {
  KvLayout layout;
  std::byte* base = nullptr;

  std::byte* Page(int32_t page) const { return base + static_cast<size_t>(page) * kPageUnit; }
  // K of a position in a layer; V follows `width` elements later. T is float, uint16_t for bf16, or int8_t.
  template <typename T>
  T* Key(int32_t layer, const int32_t* pages, int32_t position) const {
    return reinterpret_cast<T*>(Page(pages[position / kPagePositions]) + layer * layout.layer_bytes() +
                                position % kPagePositions * layout.row_bytes());
  }
  // int8: the scales of a position's K by head, then those of its V.
  float* Scales(int32_t layer, const int32_t* pages, int32_t position) const {
    return reinterpret_cast<float*>(Key<std::byte>(layer, pages, position) + layout.scale_offset());
  }
  // Component c of a position's selection key is at [c / 4 * 64 + c % 4] from here.
  int8_t* SelectionKey(int32_t group, const int32_t* pages, int32_t position) const {
    const int32_t within = position % kPagePositions;
    return reinterpret_cast<int8_t*>(Page(pages[position / kPagePositions]) + layout.group_offset(group)) +
           within / kSelectionBlock * (kSelectionBlock * layout.selection_width) + within % kSelectionBlock * 4;
  }
  float* ExitState(const int32_t* pages, int32_t position) const {
    return reinterpret_cast<float*>(Page(pages[position / kPagePositions]) + layout.exit_offset()) +
           static_cast<size_t>(position % kPagePositions) * layout.width;
  }
};

// The pages of one layout. A document takes pages as it grows, and returns all of them when it is done.
class KvStore {
 public:
  // Its pages are a share of the pool, which must outlive it. `look` as PageShare's.
  KvStore(PagePool& pool, const KvLayout& layout, std::function<void()> look)
      : layout_(layout), base_(pool.base()), share_(pool, layout.page_units(), std::move(look)) {
    SALIENT_CHECK(layout.type != ElementType::kInt8 || (layout.heads > 0 && layout.width % layout.heads == 0));
  }
  // So many pages are its own.
  KvStore(DeviceMemory& memory, const KvLayout& layout, int32_t pages)
      : KvStore(std::make_unique<Own>(memory, layout, pages), layout) {}

  KvPages pages() { return KvPages{layout_, base_}; }
  const KvLayout& layout() const { return layout_; }
  PageShare& share() { return share_; }
  const PageShare& share() const { return share_; }

  // As PageShare's.
  int32_t Take() { return share_.Take(); }
  void Return(const std::vector<int32_t>& pages) { share_.Return(pages); }

  static int32_t PagesFor(int64_t positions) {
    return static_cast<int32_t>((positions + kPagePositions - 1) / kPagePositions);
  }

 private:
  struct Own {
    Own(DeviceMemory& memory, const KvLayout& layout, int32_t pages)
        : bytes(memory, layout.page_bytes() * pages), pool(bytes.data(), layout.page_units() * pages) {}
    DeviceArray<std::byte> bytes;
    PagePool pool;
  };
  KvStore(std::unique_ptr<Own> own, const KvLayout& layout) : KvStore(own->pool, layout, [] {}) {
    own_ = std::move(own);
  }

  std::unique_ptr<Own> own_;
  KvLayout layout_;
  std::byte* base_;
  PageShare share_;
};

}  // namespace salient
