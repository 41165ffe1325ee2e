// Comma-separated values (RFC 4180), as DeepL's glossaries may have them.

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace salient {

// The first two fields of each row, with a tab between them; rows that are empty are left out. INVALID_ARGUMENT names
// the row with fewer fields, with a quotation mark that is not closed, or with a tab or line break in a field.
absl::StatusOr<std::string> TsvOfCsv(std::string_view csv);

}  // namespace salient
