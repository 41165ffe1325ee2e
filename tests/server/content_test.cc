// Documents of a format over a real connection: content in, content out.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "proto/retry_info.h"
#include "server/request/conversion.h"
#include "server/request/language_resources.h"
#include "tests/documents/zip_parts.h"
#include "tests/server/test_server.h"
#include "tests/server/translate.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

v1::TranslateDocumentRequest ContentRequest(const std::string& mime_type, const std::string& content) {
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_content(content);
  request.mutable_document()->set_mime_type(mime_type);
  return request;
}

std::string Refusal(const v1::TranslateDocumentRequest& request) {
  TestServer server;
  server.Start();
  const Reply reply = Translate(server, request);
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  return reply.status.error_message();
}

TEST(ContentTest, AnHtmlPageComesBackTranslated) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = ContentRequest(
      "text/html; charset=utf-8",
      "<html lang=en><h1>A title</h1><p>One <b>bold</b> word. Run <code>make</code> in Blue Bay.<script>x()</script>");
  request.mutable_document()->add_keep_terms("Blue Bay");
  const Reply reply = Translate(server, request);
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(
      reply.response.content(),
      "<html lang=de><h1>A TITLE</h1><p>ONE <b>BOLD</b> WORD. RUN <code>make</code> IN Blue Bay.<script>x()</script>");
  EXPECT_EQ(reply.response.mime_type(), "text/html");
  EXPECT_EQ(reply.response.text(), "");
  ASSERT_EQ(reply.response.segments_size(), 3);
  EXPECT_EQ(reply.response.segments(1).source(), "One bold word.");
}

TEST(ContentTest, TermsAreKeptInPlainText) {
  TestServer server;
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("Open Server Manager. It\nhas {n} pages.\n");
  request.mutable_document()->add_keep_terms("Server Manager");
  const Reply sentences = Translate(server, request);
  ASSERT_TRUE(sentences.status.ok()) << sentences.status.error_message();
  EXPECT_EQ(sentences.response.text(), "OPEN Server Manager. IT\nHAS {n} PAGES.\n");
  EXPECT_EQ(sentences.response.content(), "");
  EXPECT_EQ(sentences.response.mime_type(), "");
  EXPECT_EQ(sentences.response.segments_size(), 3);
  request.mutable_document()->set_segmentation(v1::SEGMENTATION_LINES);
  request.mutable_document()->set_markup(v1::MARKUP_PLACE);
  const Reply lines = Translate(server, request);
  ASSERT_TRUE(lines.status.ok()) << lines.status.error_message();
  EXPECT_EQ(lines.response.text(), "OPEN Server Manager. IT\nHAS {n} PAGES.\n");
  EXPECT_EQ(lines.response.segments_size(), 2);
}

TEST(ContentTest, WhatPlainTextCannotHaveIsRefused) {
  v1::TranslateDocumentRequest elements = RequestFor("text");
  elements.mutable_document()->mutable_elements()->add_keep("code");
  EXPECT_THAT(Refusal(elements), HasSubstr("document.elements: plain text has no elements"));
  v1::TranslateDocumentRequest markup = RequestFor("text");
  markup.mutable_document()->set_markup(v1::MARKUP_PLACE);
  EXPECT_THAT(Refusal(markup), HasSubstr("document.markup: plain text has no markup"));
  v1::TranslateDocumentRequest best = RequestFor("text");
  best.mutable_document()->add_keep_terms("a");
  best.mutable_search()->set_beam(4);
  best.mutable_search()->set_n_best(2);
  EXPECT_THAT(Refusal(best), HasSubstr("document.keep_terms there is one translation"));
  v1::TranslateDocumentRequest empty = RequestFor("");
  empty.mutable_document()->add_keep_terms("a");
  EXPECT_THAT(Refusal(empty), HasSubstr("document.text is empty"));
}

TEST(ContentTest, AReplyHasTheTypeOfItsRequest) {
  TestServer server;
  server.Start();
  const Reply reply = Translate(server, ContentRequest("Application/XHTML+xml", "<p>One</p>"));
  EXPECT_EQ(reply.response.mime_type(), "application/xhtml+xml");
}

TEST(ContentTest, SegmentsAreStreamedAndContentIsInTheResult) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto reader =
      server.stub().StreamTranslateDocument(&context, ContentRequest("text/markdown", "# One\n\n*Two*. Three.\n"));
  v1::StreamTranslateDocumentResponse event;
  int segments = 0;
  std::string content;
  while (reader->Read(&event)) {
    if (event.has_segment()) ++segments;
    if (event.has_result()) content = event.result().content();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(segments, 3);
  EXPECT_EQ(content, "# ONE\n\n*TWO*. THREE.\n");
}

TEST(ContentTest, ADocumentWithNothingToTranslateComesBackAsItIs) {
  TestServer server;
  server.Start();
  const Reply reply = Translate(server, ContentRequest("application/json", "{\"a\": 12}"));
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.response.content(), "{\"a\": 12}");
}

TEST(ContentTest, RefusalsNameTheField) {
  EXPECT_THAT(Refusal(ContentRequest("image/png", "x")),
              HasSubstr("document.mime_type is \"image/png\"; known are text/plain"));
  EXPECT_THAT(Refusal(ContentRequest("", "x")), HasSubstr("document.mime_type"));
  EXPECT_THAT(Refusal(ContentRequest("application/json", "{")), HasSubstr("document.content: JSON: byte"));
  EXPECT_THAT(Refusal(ContentRequest("application/vnd.oasis.opendocument.text", "PK")),
              HasSubstr("document.content: OpenDocument: is no ZIP archive"));
  EXPECT_THAT(Refusal(ContentRequest("text/html", std::string("<p>\xff"))), HasSubstr("not UTF-8 text at byte 3"));
  v1::TranslateDocumentRequest both = ContentRequest("text/html", "<p>x");
  both.mutable_document()->set_text("x");
  EXPECT_THAT(Refusal(both), HasSubstr("both text and content"));
  v1::TranslateDocumentRequest many = ContentRequest("text/html", "<p>x");
  many.mutable_search()->set_beam(4);
  many.mutable_search()->set_n_best(2);
  EXPECT_THAT(Refusal(many), HasSubstr("search.n_best"));
  v1::TranslateDocumentRequest lines = ContentRequest("text/html", "<p>x");
  lines.mutable_document()->set_segmentation(v1::SEGMENTATION_LINES);
  EXPECT_THAT(Refusal(lines), HasSubstr("document.segmentation"));
  v1::TranslateDocumentRequest terms = ContentRequest("text/html", "<p>x");
  terms.mutable_document()->add_keep_terms(std::string(200, 'a'));
  terms.mutable_document()->add_keep_terms(std::string(201, 'b'));
  EXPECT_THAT(Refusal(terms), HasSubstr("document.keep_terms[1]: has 201 bytes; at most 200 are allowed"));
}

// Of each byte of a segment the place that it came from is kept, and so are the units.
TEST(ConversionTest, WhatSegmentsTakeBesideTheirTextsCounts) {
  const FakeEngine engine{FakeEngineOptions()};
  LanguageResources resources("", {});
  const auto bytes_of = [&](const std::string& words) {
    std::string text;
    for (int i = 0; i < 10000; ++i) text += words;
    v1::TranslateDocumentRequest request;
    request.mutable_document()->set_text(text);
    request.mutable_memory()->set_repeats(true);
    const auto conversion = Conversion::Create(request, engine.info().config, resources, 4 << 20);
    EXPECT_TRUE(conversion.ok()) << conversion.status();
    return static_cast<double>((*conversion)->bytes()) / static_cast<double>(text.size());
  };
  const double plain = bytes_of("A line of text that is long, ");
  EXPECT_GT(plain, 3.5) << "document, units, texts, request";
  EXPECT_LT(plain, 4.5) << "bytes that are neighbours take no place each";
  EXPECT_GT(bytes_of("A line of text that is long,\n "), plain + 0.4) << "16 bytes for each line";
}

// A Word document of less than a kilobyte, whose main part has so many bytes.
v1::TranslateDocumentRequest PackedRequest(size_t bytes) {
  std::string part =
      "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>"
      "<w:p><w:r><w:t>text</w:t></w:r></w:p><!--";
  part.append(bytes, ' ').append("--></w:body></w:document>");
  return ContentRequest("application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                        MakeZip({{"[Content_Types].xml", "<Types/>"}, {"word/document.xml", part}}));
}

// A server with two of them in flight: of 320,000 bytes a client may have half, so a third one finds no room.
class UnpackedTest : public ::testing::Test {
 protected:
  UnpackedTest() {
    server_.Start();
    EXPECT_LT(request_.ByteSizeLong(), 1000u);
    for (int i = 0; i < 2; ++i) {
      callers_.emplace_back([this] { EXPECT_TRUE(Translate(server_, request_).status.ok()); });
      server_.engine().WaitForAdmitted(i + 1);
    }
  }
  void FinishBoth() {
    for (int i = 0; i < 2; ++i) server_.engine().Finish(i);
    for (std::thread& caller : callers_) caller.join();
  }

  const v1::TranslateDocumentRequest request_ = PackedRequest(60000);
  TestServer server_{{.automatic = false}, 10000};

 private:
  std::vector<std::thread> callers_;
};

TEST_F(UnpackedTest, WhatADocumentIsUnpackedToCounts) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::TranslateDocumentResponse response;
  const grpc::Status refused = server_.stub().TranslateDocument(&context, request_, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << refused.error_message();
  EXPECT_THAT(refused.error_message(), HasSubstr("this client's documents in flight have"));
  EXPECT_TRUE(RetryDelay(refused).has_value());
  FinishBoth();
}

TEST_F(UnpackedTest, OneOfAStreamWaitsForRoom) {
  grpc::ClientContext context;
  auto stream = server_.stub().TranslateDocuments(&context);
  v1::TranslateDocumentsRequest request;
  *request.mutable_request() = request_;
  EXPECT_TRUE(stream->Write(request));
  stream->WritesDone();
  FinishBoth();
  server_.engine().WaitForAdmitted(3);
  server_.engine().Finish(2);
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(stream->Read(&reply));
  EXPECT_TRUE(reply.has_response()) << reply.error().message();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace salient
