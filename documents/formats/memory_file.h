// The kinds of files that a translation memory reads. Names only, which is all that a client needs.

#pragma once

#include <string_view>

#include "absl/status/statusor.h"

namespace salient {

inline constexpr std::string_view kTmxMimeType = "application/x-tmx+xml";
inline constexpr std::string_view kPoMimeType = "text/x-gettext-translation";
// Lines of a source, a tab and its translation.
inline constexpr std::string_view kTsvMimeType = "text/tab-separated-values";

// By the extension of the name: .tmx, .po or .tsv. INVALID_ARGUMENT for any other.
absl::StatusOr<std::string_view> MemoryMimeTypeOfFile(std::string_view file_name);

}  // namespace salient
