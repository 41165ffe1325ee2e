#include "server/http/body_memory.h"

#include <string>

#include "gtest/gtest.h"

namespace salient {
namespace {

// Takes as much as the client gets, a byte at a time.
size_t TakeAll(BodyMemory& memory, const std::string& client) {
  size_t taken = 0;
  while (memory.Take(client, 1)) ++taken;
  return taken;
}

TEST(BodyMemoryTest, OneClientLeavesAFifth) {
  BodyMemory memory(1000);
  EXPECT_EQ(TakeAll(memory, "a"), 800);
  EXPECT_GT(TakeAll(memory, "b"), 100);
}

TEST(BodyMemoryTest, WhoComesLaterGetsAsMuch) {
  BodyMemory memory(900);
  const size_t all_of_a = TakeAll(memory, "a");
  memory.Return("a", all_of_a - 400);  // its first bodies have arrived
  EXPECT_EQ(TakeAll(memory, "b"), 400);
  EXPECT_FALSE(memory.Take("a", 1));
  EXPECT_TRUE(memory.Take("c", 80));
}

TEST(BodyMemoryTest, WhatIsReturnedCanBeTakenAgain) {
  BodyMemory memory(100);
  EXPECT_FALSE(memory.Take("a", 101));
  EXPECT_FALSE(memory.Take("a", 81));
  EXPECT_TRUE(memory.Take("a", 80));
  EXPECT_TRUE(memory.Take("a", 0));
  memory.Return("a", 30);
  memory.Return("a", 50);
  memory.Return("b", 0);
  EXPECT_TRUE(memory.Take("b", 80));
}

}  // namespace
}  // namespace salient
