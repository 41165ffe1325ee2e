#include "engine/decode/drafts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace salient {
namespace {

constexpr int32_t kEndToken = 3;
const float kLikely = std::log(0.9f), kUnlikely = std::log(0.4f);

Drafts WithRoomFor(int32_t most) {
  Drafts drafts;
  drafts.Begin(most);
  return drafts;
}

TEST(DraftsTest, GoesOnUntilThereIsNoRoom) {
  Drafts drafts = WithRoomFor(2);
  EXPECT_TRUE(drafts.open());
  drafts.Add({7, kLikely}, false, {.tokens = 1}, kEndToken);
  EXPECT_TRUE(drafts.open());
  drafts.Add({8, kLikely}, false, {.tokens = 2}, kEndToken);
  EXPECT_FALSE(drafts.open());
  EXPECT_EQ(drafts.count(), 2);
  EXPECT_EQ(drafts.RowsToVerify(), 3);
  EXPECT_EQ(drafts.last().token, 8);
  EXPECT_EQ(drafts.last().after.tokens, 2);
}

TEST(DraftsTest, NoRoomMeansNoDrafts) {
  const Drafts drafts = WithRoomFor(0);
  EXPECT_FALSE(drafts.open());
  EXPECT_EQ(drafts.RowsToVerify(), 1);
}

TEST(DraftsTest, EndsAfterAnUnlikelyDraftButNotAfterAForcedOne) {
  Drafts drafts = WithRoomFor(4);
  drafts.Add({7, kUnlikely}, true, {}, kEndToken);
  EXPECT_TRUE(drafts.open());
  drafts.Add({8, kUnlikely}, false, {}, kEndToken);
  EXPECT_FALSE(drafts.open());
}

TEST(DraftsTest, NothingFollowsTheEnd) {
  Drafts drafts = WithRoomFor(4);
  drafts.Add({7, kLikely}, false, {}, kEndToken);
  drafts.Add({kEndToken, kLikely}, false, {}, kEndToken);
  EXPECT_FALSE(drafts.open());
  EXPECT_EQ(drafts.RowsToVerify(), 2);
  drafts.Begin(4);  // the next step knows nothing of it
  drafts.Add({7, kLikely}, false, {}, kEndToken);
  EXPECT_EQ(drafts.RowsToVerify(), 2);
}

TEST(DraftsTest, AgreesWithTheTokenOfItsRowOnly) {
  Drafts drafts = WithRoomFor(2);
  drafts.Add({7, kLikely}, false, {}, kEndToken);
  EXPECT_TRUE(drafts.Agrees(0, 7));
  EXPECT_FALSE(drafts.Agrees(0, 8));
  EXPECT_FALSE(drafts.Agrees(1, 7));
}

}  // namespace
}  // namespace salient
