// What every format checks of its bytes before it reads them.

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "documents/document.h"

namespace salient {

// RESOURCE_EXHAUSTED beyond limits.max_bytes; `what` names the document or its part.
absl::Status CheckSize(std::string_view bytes, std::string_view what, const DocumentLimits& limits);

// As CheckSize, and INVALID_ARGUMENT with the byte where it is not UTF-8 text. UTF-16 is named as what it is.
absl::Status CheckText(std::string_view bytes, std::string_view what, const DocumentLimits& limits);

// The length of a byte order mark at the beginning: 3 or 0.
size_t ByteOrderMark(std::string_view bytes);

}  // namespace salient
