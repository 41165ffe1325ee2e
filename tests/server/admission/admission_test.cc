#include "server/admission/admission.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/admission/retry_delay.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

class AdmissionTest : public ::testing::Test {
 protected:
  // OK, or why not.
  absl::Status Enter(const Client& client, int64_t bytes) {
    auto permit = admission_.Enter(client, {.bytes = bytes, .document_bytes = bytes}, now_, &refusal_);
    if (!permit.ok()) return permit.status();
    permits_.push_back(*std::move(permit));
    return absl::OkStatus();
  }

  Admission admission_{1000};
  absl::Time now_ = absl::FromUnixSeconds(1000);
  Refusal refusal_ = Refusal::kOther;
  std::vector<std::unique_ptr<Admission::Permit>> permits_;
};

Client Named(const std::string& name, const ClientLimits& limits = {}) { return {Client::Kind::kKey, name, limits}; }

TEST_F(AdmissionTest, BytesOfAllAreBounded) {
  EXPECT_TRUE(Enter(Named("a"), 5000).ok()) << "who finds nobody is taken";
  const absl::Status refused = Enter(Named("b"), 1);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(refusal_, Refusal::kBytes);
  EXPECT_TRUE(GetRetryDelay(refused).has_value());
  permits_.clear();
  EXPECT_TRUE(Enter(Named("b"), 1).ok());
}

TEST_F(AdmissionTest, OneClientLeavesRoomForOthers) {
  EXPECT_TRUE(Enter(Named("a"), 400).ok());
  EXPECT_TRUE(Enter(Named("a"), 100).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(Enter(Named("a"), 1)));
  EXPECT_EQ(refusal_, Refusal::kClientBytes);
  EXPECT_TRUE(Enter(Named("b"), 400).ok());
}

TEST_F(AdmissionTest, DocumentsAtOnce) {
  const Client client = Named("a", {.documents = 2});
  EXPECT_TRUE(Enter(client, 1).ok());
  EXPECT_TRUE(Enter(client, 1).ok());
  EXPECT_THAT(Enter(client, 1).message(), HasSubstr("2 documents in flight"));
  EXPECT_EQ(refusal_, Refusal::kClientDocuments);
  permits_.pop_back();
  EXPECT_TRUE(Enter(client, 1).ok());
}

TEST_F(AdmissionTest, TokensAMinute) {
  const Client client = Named("a", {.tokens_per_minute = 60});
  EXPECT_TRUE(Enter(client, 4 * 49).ok());  // 50 tokens
  const absl::Status refused = Enter(client, 4 * 29);
  EXPECT_EQ(refusal_, Refusal::kClientTokens);
  EXPECT_EQ(GetRetryDelay(refused), absl::Seconds(20)) << "30 wanted, 10 there, one a second";
  now_ += absl::Seconds(20);
  EXPECT_TRUE(Enter(client, 4 * 29).ok());
  // What was estimated too high comes back; a document above a minute's allowance waits for a full bucket only.
  permits_.back()->Correct(0);
  EXPECT_TRUE(Enter(client, 4 * 28).ok());
  permits_.clear();
  now_ += absl::Minutes(10);
  EXPECT_TRUE(Enter(client, 4 * 99).ok());
  EXPECT_FALSE(Enter(client, 4).ok());
}

TEST_F(AdmissionTest, TokensOfADocumentThatWasNotTranslatedComeBack) {
  const Client client = Named("a", {.tokens_per_minute = 60});
  EXPECT_TRUE(Enter(client, 4 * 59).ok());
  permits_.clear();
  EXPECT_TRUE(Enter(client, 4 * 59).ok());
  permits_.back()->Spend();
  permits_.clear();
  EXPECT_FALSE(Enter(client, 4 * 59).ok());
}

TEST_F(AdmissionTest, TokensOfSeveralDocumentsAreReservedAsOfOne) {
  const Client client = Named("a", {.tokens_per_minute = 60});
  auto reserved = admission_.Reserve(client, 120, now_, &refusal_);
  ASSERT_TRUE(reserved.ok()) << "the bucket is full";
  const auto enter = [&] {  // 40 tokens
    auto permit = admission_.Enter(client, {.bytes = 1, .document_bytes = 4 * 39}, now_, &refusal_, *reserved);
    EXPECT_TRUE(permit.ok()) << permit.status();
    return *std::move(permit);
  };
  EXPECT_EQ(GetRetryDelay(admission_.Reserve(client, 120, now_, &refusal_).status()), absl::Seconds(120));
  EXPECT_EQ(refusal_, Refusal::kClientTokens);
  enter();  // and is not translated: the next ones may have its tokens
  enter()->Spend();
  enter()->Correct(50);
  reserved->reset();  // gives back the 40 of the third one
  EXPECT_EQ(GetRetryDelay(Enter(client, 4 * 59)), absl::Seconds(90)) << "of 60 tokens 40 and 50 were used";
  const auto unlimited = admission_.Reserve(Named("b"), 1000, now_, &refusal_);
  EXPECT_TRUE(unlimited.ok() && *unlimited == nullptr);
}

// The keys file may change while a stream goes on with the limits that it began with.
TEST_F(AdmissionTest, WhatWasUsedOfAnAllowanceStaysUsedWhenItChanges) {
  const Client before = Named("a", {.tokens_per_minute = 60}), after = Named("a", {.tokens_per_minute = 90}),
               unlimited = Named("a");
  ASSERT_TRUE(Enter(before, 4 * 59).ok()) << "all 60 tokens";
  EXPECT_TRUE(Enter(after, 4 * 29).ok()) << "30 more";
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Enter(before, 4).ok());
    EXPECT_FALSE(Enter(after, 4).ok());
    EXPECT_TRUE(Enter(unlimited, 4).ok());
  }
  now_ += absl::Seconds(2);
  EXPECT_FALSE(Enter(after, 4 * 4).ok()) << "3 of the 5 tokens are there";
  EXPECT_TRUE(Enter(after, 4 * 2).ok());
}

TEST_F(AdmissionTest, WhatWasTranslatedWithoutAnAllowanceIsNotOfOne) {
  ASSERT_TRUE(Enter(Named("a"), 4).ok());
  permits_.back()->Correct(1'000'000);
  EXPECT_TRUE(Enter(Named("a", {.tokens_per_minute = 60}), 4 * 59).ok());
}

// Of many clients those are forgotten whose allowance is full.
TEST_F(AdmissionTest, WhatWasUsedBeyondAnAllowanceIsNotForgotten) {
  const ClientLimits limits = {.tokens_per_minute = 60};
  ASSERT_TRUE(Enter(Named("a", limits), 4 * 599).ok()) << "600 tokens";
  permits_.back()->Spend();
  permits_.clear();
  now_ += absl::Minutes(5);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(Enter(Named(std::to_string(i), limits), 4).ok());
    permits_.clear();
  }
  EXPECT_FALSE(Enter(Named("a", limits), 4).ok()) << "300 of the 600 are there again";
  EXPECT_EQ(refusal_, Refusal::kClientTokens);
  now_ += absl::Minutes(6);
  EXPECT_TRUE(Enter(Named("a", limits), 4).ok());
}

TEST_F(AdmissionTest, AMemoryCountsAsBytesAndNotAsTokens) {
  const Client client = Named("a", {.tokens_per_minute = 60});
  const auto permit = admission_.Enter(client, {.bytes = 900, .document_bytes = 40}, now_, &refusal_);
  EXPECT_TRUE(permit.ok()) << permit.status();
  EXPECT_FALSE(Enter(Named("b"), 200).ok());
  EXPECT_EQ(refusal_, Refusal::kBytes);
}

TEST_F(AdmissionTest, ClientsOfDifferentKindsAreDifferent) {
  Client key = Named("x", {.documents = 1}), address = key;
  address.kind = Client::Kind::kAddress;
  EXPECT_TRUE(Enter(key, 1).ok());
  EXPECT_TRUE(Enter(address, 1).ok());
  EXPECT_FALSE(Enter(key, 1).ok());
}

TEST_F(AdmissionTest, WhatADocumentIsUnpackedToNeedsRoomAsWell) {
  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  EXPECT_TRUE(permits_[0]->TryGrow(5000, &refusal_).ok()) << "nothing else is held";
  EXPECT_FALSE(Enter(Named("b"), 1).ok());
  permits_.clear();

  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  EXPECT_TRUE(permits_[0]->TryGrow(400, &refusal_).ok());
  const absl::Status refused = permits_[1]->TryGrow(100, &refusal_);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_EQ(refusal_, Refusal::kClientBytes);
  EXPECT_TRUE(GetRetryDelay(refused).has_value());
  EXPECT_TRUE(permits_[1]->TryGrow(80, &refusal_).ok()) << "what was refused was not added";
  ASSERT_TRUE(Enter(Named("b"), 10).ok());
  EXPECT_FALSE(permits_[2]->TryGrow(600, &refusal_).ok());
  EXPECT_EQ(refusal_, Refusal::kBytes) << "the one of 500 bytes, and another client's";
  permits_.clear();
  EXPECT_TRUE(Enter(Named("a"), 500).ok()) << "all of it came back";
  EXPECT_TRUE(Enter(Named("b"), 500).ok());
}

TEST_F(AdmissionTest, SharesCountUntilTheyEnd) {
  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  std::unique_ptr<Admission::Share> share = permits_[0]->MakeShare(600);
  EXPECT_TRUE(permits_[0]->KeepsLimits(600)) << "nothing else is held";
  EXPECT_FALSE(permits_[0]->KeepsLimits(0));
  EXPECT_FALSE(Enter(Named("b"), 400).ok());
  EXPECT_EQ(refusal_, Refusal::kBytes);
  permits_.clear();
  EXPECT_FALSE(Enter(Named("a"), 10).ok()) << "it may outlive its document";
  EXPECT_EQ(refusal_, Refusal::kClientBytes);
  share.reset();
  EXPECT_TRUE(Enter(Named("a"), 500).ok()) << "all of it came back";
  EXPECT_TRUE(Enter(Named("b"), 500).ok());
}

TEST_F(AdmissionTest, WhoElseIsHeldDecidesWhetherADocumentMayExceedALimit) {
  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  ASSERT_TRUE(Enter(Named("a"), 10).ok());
  const auto share = permits_[0]->MakeShare(400);
  EXPECT_TRUE(permits_[0]->KeepsLimits(400));
  const auto more = permits_[0]->MakeShare(100);
  EXPECT_FALSE(permits_[0]->KeepsLimits(500)) << "a client has half";
  EXPECT_FALSE(permits_[1]->KeepsLimits(0));
}

}  // namespace
}  // namespace salient
