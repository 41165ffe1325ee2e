// Copies whole rows of K and V from the store to one warp, by cp.async through shared memory.
//
// A warp has room for the K and the V of one group of kAtOnce keys. While it computes with the values of a group, the
// keys of the next group are copied; while it computes with those keys, their values are copied. So between half and
// all of a block's sizeof(Buffer) * kRowWarps bytes are in flight at any time, also from one split to the next. Every
// wait is for all copies except the latest.

#pragma once

#include "engine/attention/cuda/attend_row.h"
#include "engine/core/cuda/tensor_core.h"

namespace salient::cuda {

// Where a row's keys are found: by the slots that were worked out when they were chosen, or by the page table.
struct KeySource {
  Keys keys;
  const int32_t* slots;  // shared memory; null: by the page table

  __device__ int32_t Slot(const PagesView& pages, int32_t j) const {
    return slots != nullptr ? slots[j] : pages.Slot(keys.pages, keys.Position(j));
  }
};

template <typename T, int kEach>
class Gather {
 public:
  static constexpr int kKeys = kAtOnce<T, kEach>;
  static constexpr int kWords = Held<T, kEach>::kWords;
  using Words = uint4[kKeys][kWords * kWarp];
  struct Buffer {
    Words keys, values;
  };

  // For one of the warps of a block that does splits `first_split`, `first_split` + `stride`, ... of a row. Starts to
  // copy.
  __device__ Gather(Buffer& buffer, const PagesView& pages, const KeySource& source, const Division& division,
                    int32_t first_split, int32_t stride)
      : buffer_(buffer), pages_(pages), source_(source), division_(division), stride_(stride) {
    next_keys_ = Settle({first_split, FirstOf(first_split)});
    next_values_ = next_keys_;
    Copy(buffer_.keys, 0, next_keys_);
    Copy(buffer_.values, pages_.width, next_values_);
  }

  // A warp's first key of a split, and how far it is from one of its groups to the next.
  __device__ int32_t FirstOf(int32_t split) const {
    return division_.First(split) + static_cast<int32_t>(threadIdx.x) / kWarp * kKeys;
  }
  static constexpr int32_t kStep = kRowWarps * kKeys;

  // The groups' keys and values, one group after the other, in turns; those that are not there are zeros.
  __device__ void TakeKeys(Held<T, kEach> (&held)[kKeys]) { Take(buffer_.keys, 0, next_keys_, held); }
  __device__ void TakeValues(Held<T, kEach> (&held)[kKeys]) { Take(buffer_.values, pages_.width, next_values_, held); }

 private:
  struct Group {
    int32_t split, key;
  };

  __device__ Group Settle(Group group) const {
    while (group.split < division_.splits && group.key >= division_.Last(group.split)) {
      group.split += stride_;
      group.key = FirstOf(group.split);
    }
    return group;
  }

  // Where word w of a lane is kept: neither the copies, in the order of memory, nor a warp's reading meet in a bank.
  static __device__ int SlotOf(int lane, int word) { return word * kWarp + (lane ^ (word * (8 / kWords))); }

  // Starts the copies of a group, if there is one left, and goes on to the one after it.
  __device__ void Copy(Words& to, int32_t offset, Group& group) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (group.split < division_.splits) {
      const int32_t last = division_.Last(group.split);
#pragma unroll
      for (int a = 0; a < kKeys; ++a) {
        const bool there = group.key + a < last;
        const int32_t slot = source_.Slot(pages_, there ? group.key + a : group.key);
        const auto* from = reinterpret_cast<const uint4*>(pages_.KeyAt<T>(slot) + offset);
#pragma unroll
        for (int w = 0; w < kWords; ++w) {
          const int word = w * kWarp + lane;
          CopyAsync16(&to[a][SlotOf(word / kWords, word % kWords)], from + word, there);
        }
      }
      group = Settle({group.split, group.key + kStep});
    }
    CommitCopies();
  }

  __device__ void Take(Words& from, int32_t offset, Group& next, Held<T, kEach> (&held)[kKeys]) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    WaitForCopies<1>();
    __syncwarp();  // each lane's copies are what others read
#pragma unroll
    for (int a = 0; a < kKeys; ++a) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) held[a].words[w] = from[a][SlotOf(lane, w)];
    }
    __syncwarp();
    Copy(from, offset, next);
  }

  Buffer& buffer_;
  const PagesView& pages_;
  const KeySource& source_;
  const Division& division_;
  const int32_t stride_;
  Group next_keys_, next_values_;
};

}  // namespace salient::cuda
