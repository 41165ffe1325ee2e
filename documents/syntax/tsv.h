// Tab-separated files: glossaries and translation memories.

#pragma once

#include <cstddef>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace salient {

// A row has one field at least and three at most; the third holds the rest of the line. Fields are parts of `bytes`.
using TsvRow = absl::FunctionRef<absl::Status(size_t line, absl::Span<const std::string_view> fields)>;

// Calls `row` for every line that is not empty, with its number from 1, until one fails. A byte order mark is left out.
absl::Status ForEachTsvRow(std::string_view bytes, TsvRow row);

}  // namespace salient
