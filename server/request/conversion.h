// Converts a document to segments for the engine, and the translation back: formats, markup, terms of a glossary, and
// segments whose translation is known already.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/resources/memory.h"
#include "documents/segments/segments.h"
#include "engine/engine.h"
#include "salient/v1/translation.pb.h"
#include "server/request/language_resources.h"

namespace salient {

// Immutable; the methods may be called from any thread.
class Conversion {
 public:
  // Whether a request needs a conversion. Of plain text one that has fields which only a conversion reads, or refuses.
  static bool Needed(const v1::TranslateDocumentRequest& request);

  // Reads request.document for a model with this configuration. INVALID_ARGUMENT and NOT_FOUND name the field and the
  // error. A document may have at most `max_bytes` bytes, and each part of an archive eight times as many.
  // `own_glossary`: of its client, in place of request.glossary.name; empty: none.
  static absl::StatusOr<std::unique_ptr<Conversion>> Create(const v1::TranslateDocumentRequest& request,
                                                            const ModelConfig& model, LanguageResources& resources,
                                                            int64_t max_bytes, const std::string& own_glossary = "");

  // About how many bytes of memory it takes: of an archive most of them are those of its unpacked parts.
  int64_t bytes() const;

  // The request, with the segments to translate as text, one on each line.
  const v1::TranslateDocumentRequest& request() const { return request_; }

  bool has_terms() const { return has_terms_; }

  // For a segment of request() with its translation: as UnitSegments::BeginningWithTerm.
  std::optional<std::string> BeginningWithTerm(const TranslatedSegment& segment, size_t kept) const;

  // The segments that were shown and are repeated later, by their indices.
  using Repeated = std::unordered_map<int32_t, v1::TranslatedSegment>;

  // One translated segment of request() as a segment of the document, after the segments before it that were known or
  // repeat others. Called for all segments of request() in order, with the same `repeated`.
  std::vector<v1::TranslatedSegment> Shown(v1::TranslatedSegment segment, Repeated& repeated) const;

  // The segments of a rendered reply that Shown has not returned: those after the last one of request().
  std::vector<v1::TranslatedSegment> NotShown(const v1::TranslateDocumentResponse& reply) const;

  // Progress with request() as progress with the document.
  v1::Progress OfDocument(v1::Progress progress) const;

  // Replaces the reply's text by the translated document, and its segments by the document's. The reply must have the
  // segments of request().
  absl::Status Render(v1::TranslateDocumentResponse* reply) const;

 private:
  // A segment of the document.
  struct Fate {
    int32_t asked = -1;    // which segment of request() it is; -1: it is none
    int32_t same_as = -1;  // which segment of the document it repeats
    bool is_repeated = false;
    std::string translation;  // that the memory has, of one that is neither
  };

  Conversion(std::unique_ptr<FormattedDocument> document, UnitSegments segments)
      : document_(std::move(document)), segments_(std::move(segments)) {}

  static absl::StatusOr<UnitSegments> Cut(const v1::TranslateDocumentRequest& request, const std::string& language,
                                          const FormattedDocument& document, int32_t markers, const Glossary& glossary);
  // INVALID_ARGUMENT if what the memory knows of all segments takes too many bytes.
  absl::Status Decide(const v1::Memory& request, const TranslationMemory& memory);
  v1::TranslatedSegment Known(size_t index) const;
  v1::TranslatedSegment Final(size_t index, v1::TranslatedSegment segment, std::vector<TokenLink>* links) const;

  std::unique_ptr<FormattedDocument> document_;
  UnitSegments segments_;
  v1::TranslateDocumentRequest request_;
  std::string mime_type_;  // empty: the request had text
  bool has_terms_ = false;
  bool shows_alignment_ = false;
  bool aligns_markers_ = false;                       // else they are put back by the place of words
  std::vector<Fate> fates_;                           // of each segment of the document
  std::vector<int32_t> asked_;                        // of each segment of request() which one it is
  std::vector<std::vector<Suggestion>> suggestions_;  // of each segment; empty: not asked for
};

}  // namespace salient
