// When selection and attention are one kernel, and that it is one launch.

#include <gtest/gtest.h>

#include <vector>

#include "engine/backend/cuda/cuda_backend.h"
#include "tests/backend/documents.h"
#include "tests/cuda/emulation/emulated_device.h"

namespace salient {
namespace {

// Launches of one step's selection and attention for rows of a document of 200 keys, on a device of 4 multiprocessors.
int64_t Launches(int32_t width, int32_t heads, int32_t rows, bool few_a_document) {
  auto owned = std::make_unique<emulation::EmulatedDevice>();
  const emulation::EmulatedDevice& device = *owned;
  const absl::StatusOr<std::unique_ptr<Backend>> backend =
      cuda::MakeBackendOn(std::move(owned), {.compute = ComputeType::kBF16, .host_visible = true});
  EXPECT_TRUE(backend.ok()) << backend.status();
  TestStore store(**backend,
                  {.layers = 1, .width = width, .groups = 1, .selection_width = 16, .type = ElementType::kBF16}, 8);
  const TestDocument document = store.Add(200);
  const std::vector<KeyView> views(rows, ViewOf(document, 200));
  const std::vector<SelectionRule> rules(rows, {SelectionPolicy::kRatio, 0.1, 0});
  std::vector<int32_t> positions(static_cast<size_t>(rows) * 200);
  std::vector<KeyList> lists;
  for (int32_t row = 0; row < rows; ++row) lists.push_back({positions.data() + static_cast<size_t>(row) * 200, 0});
  const std::vector<float> queries(static_cast<size_t>(rows) * width, 1.0f);
  std::vector<float> output(queries.size());
  int64_t launches = 0;
  for (int turn = 0; turn < 2; ++turn) {  // the first makes room
    launches = device.launches();
    (*backend)->SelectAndAttend({.rows = Rows::First(rows),
                                 .queries = queries.data(),
                                 .key_inverse_step = 1,
                                 .store = store.pages(),
                                 .views = views.data(),
                                 .rules = rules.data(),
                                 .lists = lists.data()},
                                {.rows = Rows::First(rows),
                                 .queries = queries.data(),
                                 .heads = heads,
                                 .store = store.pages(),
                                 .views = views.data(),
                                 .lists = lists.data(),
                                 .output = output.data(),
                                 .few_a_document = few_a_document});
    launches = device.launches() - launches;
  }
  EXPECT_EQ(lists[0].count, 20);
  return launches;
}

TEST(FusionTest, ManyRowsAreOneLaunchAndFewAreTwo) {
  for (const int32_t width : {256, 512}) {
    EXPECT_EQ(Launches(width, 8, 1, true), 2) << width;
    EXPECT_EQ(Launches(width, 8, 2, true), 1) << width;
    EXPECT_EQ(Launches(width, 8, 40, true), 1) << width;
  }
}

TEST(FusionTest, RowsThatAWarpDoesNotFitAreTwoLaunches) { EXPECT_EQ(Launches(96, 3, 40, true), 2); }

// Rows that tiles may take are for tiles: as many launches as without fusion, more than two.
TEST(FusionTest, ADocumentsRowsAreLeftToTiles) { EXPECT_GT(Launches(256, 8, 40, false), 2); }

}  // namespace
}  // namespace salient
