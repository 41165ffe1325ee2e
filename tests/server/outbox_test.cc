#include "server/outbox.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace salient {
namespace {

grpc::ByteBuffer Message(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

std::string TextOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

// Asks for the next write and returns its text.
std::string NextWrite(Outbox& outbox) {
  EXPECT_EQ(outbox.Next(), Outbox::Act::kWrite);
  return TextOf(*outbox.current());
}

TEST(OutboxTest, OneWriteAtATimeInOrder) {
  Outbox outbox;
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing);
  outbox.Push(Message("a"));
  outbox.Push(Message("b"));
  EXPECT_EQ(NextWrite(outbox), "a");
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing) << "a is not written yet";
  EXPECT_EQ(outbox.unsent(), 2);
  outbox.Written(true);
  EXPECT_EQ(NextWrite(outbox), "b");
  outbox.Written(true);
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing);
  EXPECT_EQ(outbox.unsent(), 0);
}

TEST(OutboxTest, OnlyTheLatestProgressAndOnlyAfterMessages) {
  Outbox outbox;
  outbox.SetProgress(Message("10 %"));
  outbox.SetProgress(Message("20 %"));
  outbox.Push(Message("a"));
  EXPECT_EQ(NextWrite(outbox), "a");
  outbox.Written(true);
  EXPECT_EQ(NextWrite(outbox), "20 %");
  outbox.Written(true);
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing);
}

TEST(OutboxTest, FinishesOnceAfterAllIsWritten) {
  Outbox outbox;
  outbox.Push(Message("a"));
  outbox.SetProgress(Message("99 %"));
  outbox.Close(grpc::Status(grpc::StatusCode::CANCELLED, "x"));
  outbox.Close(grpc::Status::OK);  // too late
  outbox.Push(Message("too late"));
  EXPECT_EQ(NextWrite(outbox), "a");
  outbox.Written(true);
  EXPECT_EQ(outbox.Next(), Outbox::Act::kFinish);
  EXPECT_EQ(outbox.status().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing);
}

TEST(OutboxTest, AfterAFailedWriteTheRestIsDropped) {
  Outbox outbox;
  outbox.Push(Message("a"));
  outbox.Push(Message("b"));
  EXPECT_EQ(NextWrite(outbox), "a");
  outbox.Written(false);
  outbox.Push(Message("c"));
  EXPECT_EQ(outbox.Next(), Outbox::Act::kNothing);
  outbox.Close(grpc::Status::OK);
  EXPECT_EQ(outbox.Next(), Outbox::Act::kFinish);
}

}  // namespace
}  // namespace salient
