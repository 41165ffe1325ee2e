#include "server/conversion.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"

namespace salient {
namespace {

constexpr int64_t kPartFactor = 8, kUnpackedFactor = 32;  // how much larger what an archive holds may be
constexpr int kMostTerms = 1000, kMostElements = 1000;

// All that is wrong with a document is wrong with the request: trying again later does not help.
absl::Status InDocument(std::string_view field, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("document.", std::string(field), ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Conversion>> Conversion::Create(const v1::TranslateDocumentRequest& request,
                                                               const std::string& source_language,
                                                               const std::string& target_language, int64_t max_bytes) {
  const v1::Document& source = request.document();
  if (!source.text().empty()) {
    return absl::InvalidArgumentError("document: has both text and content; send one of the two");
  }
  if (request.search().n_best() > 1) {
    return absl::InvalidArgumentError("search.n_best: document.content has one translation; leave n_best out");
  }
  if (source.segmentation() == v1::SEGMENTATION_LINES) {
    return absl::InvalidArgumentError(
        "document.segmentation: LINES is for document.text; leave it out, the format says what belongs together");
  }
  if (source.keep_terms_size() > kMostTerms) {
    return absl::InvalidArgumentError(absl::StrCat("document.keep_terms: has ", source.keep_terms_size(),
                                                   " terms; at most ", kMostTerms, " are allowed"));
  }
  const v1::ElementRules& named = source.elements();
  if (named.keep_size() + named.block_size() + named.in_text_size() > kMostElements) {
    return absl::InvalidArgumentError(
        absl::StrCat("document.elements: names more than ", kMostElements, " elements; name fewer"));
  }
  const auto size = static_cast<int64_t>(source.content().size());
  if (size > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("document.content: ", size, " bytes, and this server takes at most ", max_bytes,
                     " a document; send it in parts, or start the server with --max-document-bytes ", size));
  }
  const absl::StatusOr<const Format*> format = FormatOfMimeType(source.mime_type());
  if (!format.ok()) return absl::InvalidArgumentError(absl::StrCat("document.", format.status().message()));
  ParseOptions options{.source_language = source_language, .target_language = target_language};
  options.keep_terms.assign(source.keep_terms().begin(), source.keep_terms().end());
  options.elements.keep.assign(named.keep().begin(), named.keep().end());
  options.elements.block.assign(named.block().begin(), named.block().end());
  options.elements.in_text.assign(named.in_text().begin(), named.in_text().end());
  options.elements.listed_only = named.listed_only();
  options.limits.max_bytes = kPartFactor * max_bytes;
  options.limits.max_unpacked_bytes = kUnpackedFactor * max_bytes;
  ParsedDocument document = ParseDocument(**format, source.content(), options);
  if (!document.ok()) return InDocument("content", document.status());
  absl::StatusOr<UnitSegments> segments = UnitSegments::Create((*document)->units(), source_language);
  if (!segments.ok()) return InDocument("content", segments.status());

  std::unique_ptr<Conversion> conversion(new Conversion(*std::move(document), *std::move(segments)));
  conversion->mime_type_ = std::string((*format)->mime_type);
  conversion->request_ = request;
  v1::Document& text = *conversion->request_.mutable_document();
  text.clear_content();
  text.set_text(conversion->segments_.lines());
  // Nothing to translate is a document of the engine's, too: one without a letter.
  if (text.text().empty()) text.set_text("\n");
  text.set_segmentation(v1::SEGMENTATION_LINES);
  return conversion;
}

absl::Status Conversion::Render(v1::TranslateDocumentResponse* reply) const {
  std::vector<std::string> translations;
  for (const v1::TranslatedSegment& segment : reply->segments()) translations.push_back(segment.text());
  if (translations.size() != segments_.texts().size()) {
    return absl::InternalError(absl::StrCat("the document has ", segments_.texts().size(),
                                            " segments, its translation ", translations.size()));
  }
  absl::StatusOr<std::string> content = document_->Render(segments_.Join(translations));
  if (!content.ok()) return absl::InternalError(absl::StrCat("document.content: ", content.status().message()));
  reply->clear_text();
  reply->set_content(*std::move(content));
  reply->set_mime_type(mime_type_);
  return absl::OkStatus();
}

}  // namespace salient
