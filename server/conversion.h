// Converts a formatted document to text for the engine, and the translation back to the format.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/segments.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// Immutable; Render may be called from any thread.
class Conversion {
 public:
  // Reads request.document.content. INVALID_ARGUMENT names the field and the error. A document may have at most
  // `max_bytes` bytes, and each part of an archive eight times as many.
  static absl::StatusOr<std::unique_ptr<Conversion>> Create(const v1::TranslateDocumentRequest& request,
                                                            const std::string& source_language,
                                                            const std::string& target_language, int64_t max_bytes);

  // The request, with the document's segments as text, one on each line.
  const v1::TranslateDocumentRequest& request() const { return request_; }

  // Replaces the reply's text by the translated content. The reply must have the segments of request().
  absl::Status Render(v1::TranslateDocumentResponse* reply) const;

 private:
  Conversion(std::unique_ptr<FormattedDocument> document, UnitSegments segments)
      : document_(std::move(document)), segments_(std::move(segments)) {}

  std::unique_ptr<FormattedDocument> document_;
  UnitSegments segments_;
  v1::TranslateDocumentRequest request_;
  std::string mime_type_;
};

}  // namespace salient
