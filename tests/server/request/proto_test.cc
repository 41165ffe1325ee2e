// The wire and the engine name the same policies; what a reply may weigh.

#include "server/request/proto.h"

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "server/request/wire.h"

namespace salient {
namespace {

// The table of policies has a row for every value of the wire's enum but UNSPECIFIED, with its number and its name.
template <typename Table>
void ExpectSame(const Table& table, const google::protobuf::EnumDescriptor& wire) {
  ASSERT_EQ(static_cast<int>(table.size()) + 1, wire.value_count());
  for (const auto& row : table) {
    const auto* value = wire.FindValueByNumber(static_cast<int>(row.policy));
    ASSERT_NE(value, nullptr) << row.name;
    EXPECT_EQ(absl::AsciiStrToUpper(row.name), value->name());
  }
}

TEST(ConvertTest, PoliciesHaveTheNamesAndNumbersOfTheWire) {
  ExpectSame(kSelectionPolicies, *v1::SelectionControls::Policy_descriptor());
  ExpectSame(kDepthPolicies, *v1::DepthControls::Policy_descriptor());
}

TEST(ConvertTest, PoliciesGoThereAndBack) {
  for (const SelectionPolicyInfo& info : kSelectionPolicies) {
    SelectionOptions options;
    options.policy = info.policy;
    EXPECT_EQ(FromProto(ToProto(options))->policy, info.policy);
  }
  for (const DepthPolicyInfo& info : kDepthPolicies) {
    DepthOptions options;
    options.policy = info.policy;
    EXPECT_EQ(FromProto(ToProto(options))->policy, info.policy);
  }
  EXPECT_FALSE(FromProto(v1::DepthControls())->policy.has_value());
}

TEST(ConvertTest, ThresholdsGoThereAndBack) {
  DepthOptions options;
  options.policy = DepthPolicy::kGeometric;
  options.thresholds = {0.25, 0.5};
  EXPECT_EQ(FromProto(ToProto(options))->thresholds, options.thresholds);
}

TEST(WireTest, AReplyThatGrpcCannotCarryIsAnErrorWithARemedy) {
  v1::TranslateDocumentResponse reply;
  reply.set_text(std::string(1000, 'a'));
  EXPECT_TRUE(CheckReplySize(reply, reply.ByteSizeLong()).ok());
  const absl::Status status = CheckReplySize(reply, reply.ByteSizeLong() - 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("leave out trace"));
}

}  // namespace
}  // namespace salient
