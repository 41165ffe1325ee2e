#include "engine/core/kv_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "engine/core/host_memory.h"

namespace salient {
namespace {

TEST(KvLayoutTest, PartsOfAPageDoNotOverlapAndFillIt) {
  const KvLayout layout = {
      .layers = 3, .width = 32, .groups = 2, .selection_width = 8, .exit_states = true, .type = ElementType::kBF16};
  EXPECT_EQ(layout.row_bytes(), 128u);
  EXPECT_EQ(layout.layer_bytes(), 64u * 128);
  EXPECT_EQ(layout.group_offset(0), 3u * 64 * 128);
  EXPECT_EQ(layout.group_offset(1), layout.group_offset(0) + 64 * 8);
  EXPECT_EQ(layout.exit_offset(), layout.group_offset(1) + 64 * 8);
  EXPECT_EQ(layout.exit_offset() + 64 * 32 * 4, 33792u);
  EXPECT_EQ(layout.page_bytes(), 5 * kPageUnit);
}

TEST(KvLayoutTest, EveryByteOfAPageBelongsToOneThing) {
  HostMemory memory;
  const KvLayout layout = {
      .layers = 2, .width = 8, .groups = 2, .selection_width = 12, .exit_states = true, .type = ElementType::kF32};
  KvStore store(memory, layout, 2);
  const std::vector<int32_t> pages = {layout.page_units(), 0};
  const KvPages view = store.pages();
  std::set<const void*> bytes;
  size_t claimed = 0;
  const auto claim = [&](const void* from, size_t n) {
    for (size_t i = 0; i < n; ++i) bytes.insert(static_cast<const std::byte*>(from) + i);
    claimed += n;
  };
  for (int32_t position = 0; position < 2 * kPagePositions; ++position) {
    for (int32_t layer = 0; layer < 2; ++layer) claim(view.Key<float>(layer, pages.data(), position), 2 * 8 * 4);
    for (int32_t group = 0; group < 2; ++group) {
      for (int32_t c = 0; c < 12; ++c) {
        claim(view.SelectionKey(group, pages.data(), position) + c / 4 * 64 + c % 4, 1);
      }
    }
    claim(view.ExitState(pages.data(), position), 8 * 4);
  }
  EXPECT_EQ(bytes.size(), claimed);  // nothing twice
  EXPECT_GT(claimed, 2 * (layout.page_bytes() - kPageUnit));
  EXPECT_EQ(*bytes.begin(), view.base);
  EXPECT_LT(static_cast<const std::byte*>(*bytes.rbegin()), view.base + 2 * layout.page_bytes());
}

// A row of int8 is K, V and their scales, each where it is aligned.
TEST(KvStoreTest, Int8RowsHaveAScaleAHead) {
  const KvLayout layout = {.layers = 2, .width = 6, .heads = 3, .type = ElementType::kInt8};
  EXPECT_EQ(layout.scale_offset(), 12u);
  EXPECT_EQ(layout.row_bytes(), 48u);  // 12 + 2 * 3 * 4, rounded up to 16
  HostMemory memory;
  KvStore store(memory, layout, 1);
  const std::vector<int32_t> pages = {store.Take()};
  const auto* key = store.pages().Key<std::byte>(1, pages.data(), 5);
  const auto* scales = reinterpret_cast<const std::byte*>(store.pages().Scales(1, pages.data(), 5));
  EXPECT_EQ(scales - key, 12);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(scales) % alignof(float), 0u);
  const KvLayout wide = {.layers = 1, .width = 512, .heads = 8, .type = ElementType::kInt8};
  EXPECT_EQ(wide.row_bytes(), 1088u);
}

TEST(KvStoreDeathTest, APageThatIsNotThereEndsTheProcess) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  HostMemory memory;
  KvStore store(memory, {.layers = 1, .width = 4}, 2);
  const std::vector<int32_t> taken = {store.Take()};
  EXPECT_DEATH(store.Return({taken[0] + 1}), "check failed");  // not taken
  EXPECT_DEATH(store.Return({2}), "check failed");             // none of the store's
  store.Return(taken);
  EXPECT_DEATH(store.Return(taken), "check failed");  // twice
  store.Take();
  store.Take();
  EXPECT_DEATH(store.Take(), "check failed");
}

TEST(KvStoreTest, HandsOutEveryPageOnceAndTakesThemBack) {
  HostMemory memory;
  KvStore store(memory, {.layers = 1, .width = 4}, 5);
  std::vector<int32_t> taken;
  for (int32_t i = 0; i < 5; ++i) taken.push_back(store.Take());
  EXPECT_EQ(std::set<int32_t>(taken.begin(), taken.end()), (std::set<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(store.share().taken(), 5);
  store.Return({taken[1], taken[3]});
  EXPECT_EQ(store.share().taken(), 3);
  EXPECT_EQ(store.Take(), taken[1]);
  EXPECT_EQ(store.Take(), taken[3]);
}

TEST(KvStoreTest, PagesForPositions) {
  EXPECT_EQ(KvStore::PagesFor(0), 0);
  EXPECT_EQ(KvStore::PagesFor(1), 1);
  EXPECT_EQ(KvStore::PagesFor(64), 1);
  EXPECT_EQ(KvStore::PagesFor(65), 2);
}

TEST(HostMemoryTest, IsZeroedAndAligned) {
  HostMemory memory;
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{4} << 20, (size_t{5} << 20) + 3}) {
    void* pointer = memory.Allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 64, 0u);
    std::vector<std::byte> copy(bytes, std::byte{1});
    memory.CopyToHost(copy.data(), pointer, bytes);
    EXPECT_EQ(copy, std::vector<std::byte>(bytes));
    copy.assign(bytes, std::byte{7});
    memory.CopyToDevice(pointer, copy.data(), bytes);
    std::vector<std::byte> back(bytes);
    memory.CopyToHost(back.data(), pointer, bytes);
    EXPECT_EQ(back, copy);
    memory.Free(pointer, bytes);
  }
}

TEST(DeviceArrayTest, MovesItsMemory) {
  HostMemory memory;
  DeviceArray<int32_t> first(memory, 10);
  int32_t* const data = first.data();
  DeviceArray<int32_t> second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.size(), 10u);
  second = DeviceArray<int32_t>(memory, 3);
  EXPECT_EQ(second.size(), 3u);
  EXPECT_TRUE(DeviceArray<int32_t>().empty());
}

}  // namespace
}  // namespace salient
