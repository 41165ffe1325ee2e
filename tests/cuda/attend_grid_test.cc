// How many blocks attention launches, and when it plans tiles: none for work that there is not, and fewer while others
// decode.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/backend/cuda/cuda_backend.h"
#include "tests/backend/documents.h"
#include "tests/cuda/emulation/emulated_device.h"
#include "tests/cuda/emulation/emulated_gemm.h"
#include "tests/cuda/emulation/grid.h"

namespace salient {
namespace {

// Blocks of all kernels of one call of Attend for rows that each read all of a document's `length` keys, on a device of
// 4 multiprocessors; of a second call with the same lists, if it is another: one again, or one that leaves room.
enum class Second { kNone, kSame, kLeavesRoom };
int64_t Blocks(int32_t rows, int32_t length, bool few_a_document, Second second = Second::kNone) {
  const absl::StatusOr<std::unique_ptr<Backend>> backend = cuda::MakeBackendOn(
      std::make_unique<emulation::EmulatedDevice>(), {.compute = ComputeType::kBF16, .host_visible = true});
  EXPECT_TRUE(backend.ok()) << backend.status();
  TestStore store(**backend, {.layers = 1, .width = 256, .type = ElementType::kBF16},
                  TestStore::PagesWithGaps(length, 1));
  const TestDocument document = store.Add(length);
  const std::vector<KeyView> views(rows, ViewOf(document, length));
  const std::vector<float> queries(static_cast<size_t>(rows) * 256, 1.0f);
  std::vector<float> output(queries.size());
  AttendArgs args = {.rows = Rows::First(rows),
                     .queries = queries.data(),
                     .heads = 8,
                     .store = store.pages(),
                     .views = views.data(),
                     .output = output.data(),
                     .few_a_document = few_a_document};
  int64_t before = emulation::BlocksRun();
  (*backend)->Attend(args);
  if (second == Second::kNone) return emulation::BlocksRun() - before;
  const std::vector<float> first = output;
  std::fill(output.begin(), output.end(), -1.0f);
  args.same_lists = true;
  (*backend)->LeaveRoom(second == Second::kLeavesRoom);
  before = emulation::BlocksRun();
  (*backend)->Attend(args);
  EXPECT_EQ(output, first);
  return emulation::BlocksRun() - before;
}

// One row of many keys has all 32 splits' blocks at most; many rows have a block each and not one for every split.
TEST(AttendGridTest, AStepsBlocksAreAboutFourAMultiprocessor) {
  EXPECT_EQ(Blocks(1, 3000, true), 16);
  EXPECT_EQ(Blocks(4, 3000, true), 16);
  EXPECT_EQ(Blocks(40, 100, true), 40);
}

// Of a document that tiles have taken nothing is left: 8 heads by 600 / 32 + 1 tiles at most, one block that plans, and
// one wave that finds no row. A layer that reads the same keys makes no plan of its own.
TEST(AttendGridTest, AfterTilesOneWaveLooksForWhatIsLeft) {
  EXPECT_EQ(Blocks(600, 100, false), 8 * 19 + 1 + 16);
  EXPECT_EQ(Blocks(600, 100, false, Second::kSame), 8 * 19 + 16);
}

// While others decode, tiles are for 3 of the 4 multiprocessors, with the same results.
TEST(AttendGridTest, TilesLeaveRoomForOthers) { EXPECT_EQ(Blocks(600, 100, false, Second::kLeavesRoom), 3 + 16); }

// The library's products are told to, and give the same.
TEST(AttendGridTest, ProductsLeaveRoomForOthers) {
  const absl::StatusOr<std::unique_ptr<Backend>> backend = cuda::MakeBackendOn(
      std::make_unique<emulation::EmulatedDevice>(), {.compute = ComputeType::kBF16, .host_visible = true});
  ASSERT_TRUE(backend.ok()) << backend.status();
  const std::vector<float> weight(64 * 64, 0.25f), input(5 * 64, 0.5f);
  const std::unique_ptr<PackedLinear> layer = (*backend)->Pack({weight.data(), nullptr, 64, 64});
  for (const bool leave : {false, true}) {
    (*backend)->LeaveRoom(leave);
    const int64_t before = emulation::GemmsThatLeftRoom();
    std::vector<float> output(5 * 64, -1.0f);
    (*backend)->Linear(
        {.weight = layer.get(), .rows = Rows::First(5), .input = input.data(), .output = output.data()});
    EXPECT_EQ(emulation::GemmsThatLeftRoom() - before, leave ? 1 : 0);
    EXPECT_EQ(output, std::vector<float>(5 * 64, 8.0f));
  }
}

}  // namespace
}  // namespace salient
