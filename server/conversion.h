// A document on its way to the engine and back where more is to be done than to translate its text: bytes of a format to
// segments and the translated segments to bytes again, markup, terms of a glossary, segments that are known already.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/memory.h"
#include "documents/segments.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/language_resources.h"

namespace salient {

// Immutable; the methods may be called from any thread.
class Conversion {
 public:
  // Whether a request needs one.
  static bool Needed(const v1::TranslateDocumentRequest& request);

  // Reads request.document, for a model of that configuration. INVALID_ARGUMENT and NOT_FOUND name the field and what is
  // wrong with it. A document may have `max_bytes`, and each part of an archive eight times as many.
  static absl::StatusOr<std::unique_ptr<Conversion>> Create(const v1::TranslateDocumentRequest& request,
                                                            const ModelConfig& model, LanguageResources& resources,
                                                            int64_t max_bytes);

  // The request with the segments that are to be translated as text, one a line.
  const v1::TranslateDocumentRequest& request() const { return request_; }

  // Segments of the document, in order, out of one of request()'s translation: that, and before it those that were known
  // already.
  std::vector<v1::TranslatedSegment> Shown(v1::TranslatedSegment segment) const;

  // Of a rendered reply those segments that Shown did not bring.
  std::vector<v1::TranslatedSegment> NotShown(const v1::TranslateDocumentResponse& reply) const;

  // Puts the whole document's translation into the place of the reply's text, and all its segments into that of those.
  // The reply has the segments of request().
  absl::Status Render(v1::TranslateDocumentResponse* reply) const;

 private:
  // A segment of the document.
  struct Fate {
    int32_t asked = -1;       // which segment of request() it is; -1: it is none
    int32_t same_as = -1;     // which segment of the document it repeats
    std::string translation;  // that the memory has, of one that is neither
  };

  Conversion(std::unique_ptr<FormattedDocument> document, UnitSegments segments)
      : document_(std::move(document)), segments_(std::move(segments)) {}

  static absl::StatusOr<UnitSegments> Cut(const v1::TranslateDocumentRequest& request, const ModelConfig& model,
                                          const FormattedDocument& document, bool spells,
                                          LanguageResources& resources);
  void Decide(const v1::Memory& request, const TranslationMemory& memory);
  v1::TranslatedSegment Known(size_t index) const;
  v1::TranslatedSegment Final(size_t index, v1::TranslatedSegment segment, std::vector<TokenLink>* links) const;

  std::unique_ptr<FormattedDocument> document_;
  UnitSegments segments_;
  v1::TranslateDocumentRequest request_;
  std::string mime_type_;  // empty: the request had text
  bool shows_alignment_ = false;
  std::vector<Fate> fates_;                            // of each segment of the document
  std::vector<int32_t> asked_;                         // of each segment of request() which one it is
  std::vector<std::vector<Suggestion>> suggestions_;  // of each segment; empty: not asked for
};

}  // namespace salient
