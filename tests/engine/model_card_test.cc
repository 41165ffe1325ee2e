#include "engine/model_card.h"

#include <string>

#include "gtest/gtest.h"

namespace salient {
namespace {

TEST(DescriptionTest, IsTheFirstParagraphOfACard) {
  EXPECT_EQ(Description("# Name\n\nOne\nparagraph.\n\nAnother."), "One paragraph.");
  EXPECT_EQ(Description("# Name\r\n\r\nOne\r\nparagraph.\r\n\r\nAnother.\r\n"), "One paragraph.");
  EXPECT_EQ(Description("# Name\n"), "");
}

TEST(DescriptionTest, FitsIntoAReply) {
  EXPECT_EQ(Description("Fa\xe7on"), "") << "Latin-1";
  EXPECT_EQ(Description(std::string(4095, 'a') + "\u00e9"), std::string(4095, 'a'));
}

}  // namespace
}  // namespace salient
