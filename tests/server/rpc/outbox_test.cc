#include "server/rpc/outbox.h"

#include <memory>
#include <string>
#include <utility>
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

TEST(OutboxTest, KeepsSomethingForEachMessageUntilItIsWritten) {
  Outbox outbox;
  auto first = std::make_shared<int>(1), second = std::make_shared<int>(2);
  const std::weak_ptr<int> with_first = first, with_second = second;
  outbox.Push(Message("a"), std::move(first));
  outbox.Push(Message("bcd"), std::move(second));
  EXPECT_EQ(outbox.unsent_bytes(), 4);
  EXPECT_EQ(NextWrite(outbox), "a");
  EXPECT_FALSE(with_first.expired());
  EXPECT_EQ(outbox.unsent_bytes(), 4);
  outbox.Written(true);
  EXPECT_TRUE(with_first.expired());
  EXPECT_FALSE(with_second.expired());
  EXPECT_EQ(outbox.unsent_bytes(), 3);
  EXPECT_EQ(NextWrite(outbox), "bcd");
  outbox.SetProgress(Message("99 %"));
  outbox.Written(true);
  EXPECT_TRUE(with_second.expired());
}

TEST(OutboxTest, KeepsNothingForWhatIsDropped) {
  Outbox failed, full;
  auto kept = std::make_shared<int>(1);
  for (Outbox* outbox : {&failed, &full}) {
    outbox->Push(Message("a"), kept);
    outbox->Push(Message("b"), kept);
    EXPECT_EQ(NextWrite(*outbox), "a");
  }
  failed.Written(false);
  failed.Push(Message("c"), kept);
  EXPECT_FALSE(full.Push(Message(std::string(Outbox::kMaxUnsentBytes, 'a')), kept));
  full.Written(true);
  EXPECT_EQ(kept.use_count(), 1);
}

}  // namespace
}  // namespace salient
