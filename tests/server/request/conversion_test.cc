// A request's document as segments for the engine, and back.

#include "server/request/conversion.h"

#include <memory>
#include <string>

#include "documents/formats/memory_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Conversion> Created(const v1::TranslateDocumentRequest& request, const ModelConfig& model) {
  LanguageResources resources("", {});
  auto conversion = Conversion::Create(request, model, resources, 4 << 20);
  EXPECT_TRUE(conversion.ok()) << conversion.status();
  return conversion.ok() ? *std::move(conversion) : nullptr;
}

TEST(ConversionTest, AModelOfSeveralLanguagesHasThoseOfTheRequest) {
  ModelConfig model;
  model.source_language = model.target_language = "mul";
  model.has_languages = true;
  model.languages.source = model.languages.target = {"en", "de", "pt"};
  v1::TranslateDocumentRequest request;
  request.set_source_language("de-AT");
  request.set_target_language("pt");
  request.mutable_document()->set_mime_type("text/html");
  request.mutable_document()->set_content("<html lang=\"de\"><p>Es gibt u. a. Brot. Guten Tag.</p></html>");
  v1::MemoryFile* memory = request.mutable_memory()->add_files();
  memory->set_mime_type(std::string(kTmxMimeType));
  memory->set_content(
      "<tmx><body><tu><tuv xml:lang=\"de\"><seg>Guten Tag.</seg></tuv><tuv xml:lang=\"en\"><seg>Hello.</seg></tuv>"
      "<tuv xml:lang=\"pt-BR\"><seg>Bom dia.</seg></tuv></tu></body></tmx>");
  const auto conversion = Created(request, model);
  ASSERT_NE(conversion, nullptr);
  EXPECT_EQ(conversion->request().document().text(), "Es gibt u. a. Brot.\n") << "German abbreviations";
  v1::TranslateDocumentResponse reply;
  reply.add_segments()->set_text("Há pão.");
  ASSERT_TRUE(conversion->Render(&reply).ok());
  EXPECT_EQ(reply.content(), "<html lang=\"pt\"><p>Há pão. Bom dia.</p></html>");
}

TEST(ConversionTest, MarkersFollowTheAttentionOfAModelThatNamesTheLayerThatAligns) {
  ModelConfig model;
  v1::TranslateDocumentRequest request;
  request.mutable_document()->set_mime_type("text/html");
  request.mutable_document()->set_content("<p>A <b>red</b> house</p>");
  EXPECT_FALSE(Created(request, model)->request().alignment());
  model.aligns = 1;
  EXPECT_TRUE(Created(request, model)->request().alignment());
  request.mutable_document()->set_markup(v1::MARKUP_PLACE);
  EXPECT_FALSE(Created(request, model)->request().alignment());
  request.mutable_document()->clear_markup();
  request.mutable_document()->set_content("<p>A red house</p>");
  EXPECT_FALSE(Created(request, model)->request().alignment()) << "nothing is to be placed";
}

TEST(ConversionTest, ADocumentWhoseSegmentsAreTooLongIsNamedByItsField) {
  v1::TranslateDocumentRequest request;
  LanguageResources resources("", {});
  request.mutable_document()->set_mime_type("text/html");
  request.mutable_document()->set_content("<p>一。二。三。四。");  // four lines of six bytes and a line break
  const auto refusal = [&](int64_t max_bytes) {
    return std::string(Conversion::Create(request, {}, resources, max_bytes).status().message());
  };
  EXPECT_EQ(refusal(28), "");
  EXPECT_THAT(refusal(27), HasSubstr("document.content: its segments have 28 bytes, and this server takes at most 27"));
  EXPECT_THAT(refusal(26), HasSubstr("document.content: 27 bytes, and this server takes at most 26 a document"));
}

}  // namespace
}  // namespace salient
