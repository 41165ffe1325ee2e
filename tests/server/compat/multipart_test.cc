#include "server/compat/multipart.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

constexpr char kType[] = "multipart/form-data; boundary=X";

std::string Refusal(const std::string& body, const std::string& type = kType) {
  const auto parts = ParseMultipart(type, body);
  return parts.ok() ? "was not refused" : std::string(parts.status().message());
}

std::string Part(const std::string& header, const std::string& content) {
  return "--X\r\n" + header + "\r\n\r\n" + content + "\r\n";
}

TEST(MultipartTest, FieldsAndFiles) {
  const std::string body = Part("Content-Disposition: form-data; name=\"target_lang\"", "DE") +
                           Part(
                               "content-type: text/html\r\nContent-Disposition: Form-Data; NAME=file; "
                               "filename=\"a \\\"b\\\\; c.html\"",
                               "<p>\r\n--Y\r\n") +
                           Part("Content-Disposition: form-data; name=\"empty\"", "") + "--X--\r\n";
  const auto parts = ParseMultipart("Multipart/Form-Data; charset=utf-8; boundary=\"X\"", body);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ((*parts)[0].name, "target_lang");
  EXPECT_EQ((*parts)[0].content, "DE");
  EXPECT_EQ((*parts)[0].file_name, "");
  EXPECT_EQ((*parts)[1].name, "file");
  EXPECT_EQ((*parts)[1].file_name, "a \"b\\; c.html");
  EXPECT_EQ((*parts)[1].content_type, "text/html");
  EXPECT_EQ((*parts)[1].content, "<p>\r\n--Y\r\n");
  EXPECT_EQ((*parts)[2].content, "");
}

// As .NET's client sends a name that is not ASCII.
TEST(MultipartTest, AFileNameInUtf8) {
  const auto name = [](const std::string& parameters) {
    const std::string body = Part("Content-Disposition: form-data; name=file; " + parameters, "text") + "--X--\r\n";
    const auto parts = ParseMultipart(kType, body);
    return parts.ok() && parts->size() == 1 ? (*parts)[0].file_name : std::string(parts.status().message());
  };
  EXPECT_EQ(name("filename=\"=?utf-8?B?YcOkLnR4dA==?=\"; filename*=utf-8''a%C3%A4.txt"), "aä.txt");
  EXPECT_EQ(name("filename*=UTF-8'de'a+b.txt"), "a+b.txt");
  for (const std::string wrong : {"utf-8''%zz.txt", "utf-8''", "utf-8'", "iso-8859-1''%E4.txt", "", "c.txt"}) {
    EXPECT_EQ(name("filename=b.txt; filename*=" + wrong), "b.txt") << wrong;
  }
}

TEST(MultipartTest, AForm) {
  const auto parts = ParseMultipart(kType, "--X--");
  ASSERT_TRUE(parts.ok());
  EXPECT_TRUE(parts->empty());
}

// With nothing between a part's header and the boundary, one line break serves both.
TEST(MultipartTest, APartWithoutContent) {
  const auto parts = ParseMultipart(kType, "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n--X--");
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ((*parts)[0].content, "");
}

TEST(MultipartTest, RefusesByName) {
  EXPECT_THAT(Refusal("--X--", "text/plain; boundary=X"), HasSubstr("Content-Type"));
  EXPECT_THAT(Refusal("--X--", "multipart/form-data"), HasSubstr("boundary of 1 to 70"));
  EXPECT_THAT(Refusal("--X--", "multipart/form-data; boundary=" + std::string(71, 'X')), HasSubstr("1 to 70"));
  EXPECT_THAT(Refusal(""), HasSubstr("begin with the boundary"));
  EXPECT_THAT(Refusal("--Xa"), HasSubstr("end of its line"));
  EXPECT_THAT(Refusal("--X"), HasSubstr("end of its line"));
  EXPECT_THAT(Refusal("--X\r\nContent-Disposition: form-data; name=a"), HasSubstr("header does not end"));
  EXPECT_THAT(Refusal("--X\r\nContent-Disposition: form-data; name=a\r\n\r\nb"), HasSubstr("last part"));
  EXPECT_THAT(Refusal(Part("Content-Disposition: form-data", "") + "--X--"), HasSubstr("with a name"));
  EXPECT_THAT(Refusal(Part("Content-Disposition: attachment; name=a", "") + "--X--"), HasSubstr("form-data"));
  EXPECT_THAT(Refusal(Part("no colon", "") + "--X--"), HasSubstr("colon"));
}

TEST(MultipartTest, IsBounded) {
  const std::string part = Part("Content-Disposition: form-data; name=\"a\"", "b");
  std::string most;
  for (size_t i = 0; i < kMaxFormParts; ++i) most += part;
  EXPECT_TRUE(ParseMultipart(kType, most + "--X--").ok());
  EXPECT_THAT(Refusal(most + part + "--X--"), HasSubstr("more than 2000 parts"));
  const std::string long_header =
      "Content-Disposition: form-data; name=\"a\"\r\nX: " + std::string(kMaxPartHeader, 'x');
  EXPECT_THAT(Refusal(Part(long_header, "b") + "--X--"), HasSubstr("within 8 KiB"));
}

}  // namespace
}  // namespace salient
