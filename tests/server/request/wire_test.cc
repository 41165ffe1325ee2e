#include "server/request/wire.h"

#include <string>

#include "gmock/gmock.h"
#include "grpcpp/support/slice.h"
#include "gtest/gtest.h"
#include "salient/v1/translation.pb.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

grpc::ByteBuffer AsBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string Times(int count, const std::string& bytes) {
  std::string all;
  for (int i = 0; i < count; ++i) all += bytes;
  return all;
}

TEST(WireTest, NoFieldOccursSoOftenThatItsMessageTakesMuchMemory) {
  const auto refusal = [](const std::string& bytes) {
    v1::TranslateDocumentsRequest request;
    const absl::Status status = ParseMessage(AsBuffer(std::string("\x0A\x02id", 4) + bytes), &request);
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_EQ(request.id(), "id") << "which a reply repeats";
    EXPECT_LT(request.SpaceUsedLong(), 20u << 20);
    return std::string(status.message());
  };
  v1::TranslateDocumentsRequest request;
  for (int i = 0; i < kMostOccurrences; ++i) request.mutable_request()->mutable_glossary()->add_terms();
  EXPECT_TRUE(ParseMessage(SerializeMessage(request), &request).ok());
  EXPECT_EQ(request.request().glossary().terms_size(), kMostOccurrences);
  request.mutable_request()->mutable_glossary()->add_terms();
  EXPECT_EQ(refusal(request.SerializeAsString()), "request.glossary.terms: has more than 100000 entries; send fewer");
  request.mutable_request()->mutable_glossary()->mutable_terms()->DeleteSubrange(0, kMostOccurrences / 2);
  EXPECT_THAT(refusal(Times(2, request.SerializeAsString())), HasSubstr("terms: has more")) << "protobuf joins the two";

  const std::string unknown("\xC0\x3E\0", 3), text_as_number("\x08\0", 2), group("\xC3\x3E\xC4\x3E", 4);
  EXPECT_THAT(refusal(Times(kMostOccurrences + 1, unknown)), HasSubstr("fields that this server does not know"));
  EXPECT_THAT(refusal(Times(kMostOccurrences + 1, text_as_number)), HasSubstr("fields that this server does not know"));
  EXPECT_THAT(refusal(group), HasSubstr("are not a salient.v1.TranslateDocumentsRequest"));
}

TEST(WireTest, JsonIsBoundedBeforeItIsParsed) {
  v1::TranslateDocumentRequest request;
  ASSERT_TRUE(ParseJson(R"({"document": {"text": "a"}, "glossary": {"terms": [{"source": "a"}]}})", &request).ok());
  EXPECT_EQ(request.glossary().terms(0).source(), "a");
  v1::TranslateDocumentRequest other;
  const absl::Status refused =
      ParseJson(R"({"glossary": {"terms": [)" + Times(kMostOccurrences, "{},") + "{}]}}", &other);
  EXPECT_EQ(refused.message(), "glossary.terms: has more than 100000 entries; send fewer");
  EXPECT_EQ(other.glossary().terms_size(), 0);
}

TEST(WireTest, JsonOfTooManyValuesIsNotParsed) {
  const auto refusal = [](const std::string& json) {
    v1::TranslateDocumentRequest request;
    return std::string(ParseJson(json, &request).message());
  };
  const auto bodies = [](const std::string& value, int times) { return "{\"x\": [" + Times(times, value) + "]}"; };
  for (const char* value : {"{},", "1,", "[1],", "\"\\\",{\","}) {
    EXPECT_THAT(refusal(bodies(value, kMostJsonValues + 1)), HasSubstr("more than 1000000 objects and values"))
        << value;
  }
  v1::TranslateDocumentRequest request;
  for (const char* text : {R"("{,\"{,'{,")", R"('{,\'{,"{,')"}) {  // braces and commas of strings do not count
    const std::string text_of_braces = std::string(text).insert(1, Times(kMostJsonValues, "{,"));
    EXPECT_TRUE(ParseJson("{\"document\": {\"text\": " + text_of_braces + "}}", &request).ok()) << text;
  }
}

TEST(WireTest, MessagesSurviveTheWay) {
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_text("Größe \xF0\x9F\x98\x80");
  request.set_model("m");
  v1::TranslateDocumentRequest copy;
  ASSERT_TRUE(ParseMessage(SerializeMessage(request), &copy).ok());
  EXPECT_EQ(copy.SerializeAsString(), request.SerializeAsString());
}

}  // namespace
}  // namespace salient
