// Checks of the bytes of a document that all formats make before they read it.

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "documents/document.h"

namespace salient {

// What to do about a glossary or a memory that is too large.
inline constexpr char kLeaveOut[] = "leave out what the document does not need";

// RESOURCE_EXHAUSTED with the remedy beyond limits.max_bytes. `what` names the document or its part; empty: the caller
// names it.
absl::Status CheckSize(std::string_view bytes, std::string_view what, const DocumentLimits& limits,
                       std::string_view remedy = "split the document");

// As CheckSize, and INVALID_ARGUMENT with the byte offset if it is not UTF-8 text. The error recognises UTF-16.
absl::Status CheckText(std::string_view bytes, std::string_view what, const DocumentLimits& limits);

// The length of a byte order mark at the beginning: 3 or 0.
size_t ByteOrderMark(std::string_view bytes);

}  // namespace salient
