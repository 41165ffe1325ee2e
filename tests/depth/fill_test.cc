#include "engine/depth/fill.h"

#include <algorithm>
#include <vector>

#include "engine/backend/backend.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr int32_t kWidth = 4, kLayers = 3, kFirstFill = 2, kCapacity = 8;

// One chunk at row 0 (and, as a beam of it, row 1), whose tokens exited where the test says.
class FillTest : public ::testing::Test {
 protected:
  FillTest()
      : backend_(MakeReferenceBackend()),
        store_(backend_->memory(), {.layers = kLayers, .width = kWidth, .exit_states = true}, 4),
        exit_of_(64, kNoExit),
        filled_to_(kLayers, 0),
        states_((kFirstFill + kCapacity) * kWidth, 0.0f),
        views_(kFirstFill + kCapacity),
        positions_(kFirstFill + kCapacity),
        steps_(kFirstFill + kCapacity) {
    pages_ = {store_.Take()};
    views_[0] = views_[1] = {.pages = pages_.data()};
    ledger_ = {exit_of_.data(), filled_to_.data()};
    ledgers_ = {&ledger_, &ledger_};
  }

  // Positions before this one belong to earlier steps.
  void DecodeFrom(int32_t position) { step_of_[0] = step_of_[1] = position / ledger_.beam; }

  // The token of a position leaves after `exit` layers with a state that says so.
  void Decode(int32_t position, int32_t exit) {
    positions_[0] = position;
    exit_at_[0] = exit;
    std::fill_n(states_.begin(), kWidth, static_cast<float>(100 * exit + position));
    KeepExitStates({.rows = Rows::First(1),
                    .states = states_.data(),
                    .exit_at = exit_at_,
                    .layers = kLayers,
                    .ledgers = ledgers_.data(),
                    .views = views_.data(),
                    .positions = positions_.data(),
                    .store = store_.pages()});
  }

  // What layer `layer` lacks of what the rows' chunks need: the positions it is given.
  std::vector<int32_t> Collect(int32_t layer, int32_t rows = 1, int32_t capacity = kCapacity) {
    int32_t count = -1;
    CollectFills({.active = Rows::First(rows),
                  .layer = layer,
                  .ledgers = ledgers_.data(),
                  .steps = step_of_,
                  .views = views_.data(),
                  .store = store_.pages(),
                  .first_row = kFirstFill,
                  .capacity = capacity,
                  .states = states_.data(),
                  .fill_views = views_.data(),
                  .fill_positions = positions_.data(),
                  .fill_steps = steps_.data(),
                  .fills = fills_,
                  .count = &count});
    return {positions_.begin() + kFirstFill, positions_.begin() + kFirstFill + count};
  }

  std::unique_ptr<Backend> backend_;
  KvStore store_;
  std::vector<int32_t> pages_;
  std::vector<uint8_t> exit_of_;
  std::vector<int32_t> filled_to_;
  FillLedger ledger_;
  std::vector<FillLedger*> ledgers_;
  std::vector<float> states_;
  std::vector<KeyView> views_;
  std::vector<int32_t> positions_, steps_;
  int32_t exit_at_[2] = {}, fills_[2] = {}, step_of_[2] = {};
};

TEST_F(FillTest, ALayerLacksThePositionsThatLeftBelowIt) {
  Decode(0, 3);
  Decode(1, 1);
  Decode(2, 2);
  Decode(3, 1);
  DecodeFrom(4);
  EXPECT_THAT(Collect(2), ElementsAre(1, 3));
  EXPECT_EQ(fills_[0], 2);
  EXPECT_THAT(std::vector<float>(states_.begin() + kFirstFill * kWidth, states_.begin() + (kFirstFill + 1) * kWidth),
              Each(101.0f));
  EXPECT_THAT(Collect(3), ElementsAre(1, 2, 3));
}

TEST_F(FillTest, WhatIsFilledIsNotFilledAgain) {
  Decode(0, 1);
  DecodeFrom(1);
  EXPECT_THAT(Collect(2), ElementsAre(0));
  EXPECT_THAT(Collect(2), ElementsAre());
  Decode(1, 1);
  DecodeFrom(2);
  EXPECT_THAT(Collect(2), ElementsAre(1));
  EXPECT_THAT(Collect(3), ElementsAre(0, 1));  // a layer of its own
}

TEST_F(FillTest, ThePresentStepIsNotMissing) {
  Decode(0, 1);
  DecodeFrom(0);
  EXPECT_THAT(Collect(2), ElementsAre());
}

TEST_F(FillTest, MoreThanFitsIsLeftForTheNextTime) {
  for (int32_t position = 0; position < 5; ++position) Decode(position, 1);
  DecodeFrom(5);
  EXPECT_THAT(Collect(2, 1, 2), ElementsAre(0, 1));
  EXPECT_THAT(Collect(2, 1, 2), ElementsAre(2, 3));
  EXPECT_THAT(Collect(2, 1, 2), ElementsAre(4));
  EXPECT_THAT(Collect(2, 1, 2), ElementsAre());
}

TEST_F(FillTest, RowsOfOneChunkShareItsFillsAndPlacesNeverDecodedAreLeftOut) {
  ledger_.beam = 2;
  Decode(0, 1);  // step 0 has one hypothesis: position 1 stays empty
  Decode(2, 1);
  Decode(3, 2);
  DecodeFrom(4);
  EXPECT_THAT(Collect(2, 2), ElementsAre(0, 2));
  EXPECT_THAT(std::vector<int32_t>(steps_.begin() + kFirstFill, steps_.begin() + kFirstFill + 2), ElementsAre(0, 1));
  EXPECT_EQ(fills_[0], 2);
  EXPECT_EQ(fills_[1], 0);
}

}  // namespace
}  // namespace salient
