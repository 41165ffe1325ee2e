// The messages of a PO file, with the bytes of their strings.
//
// The lines are read here rather than by libgettextpo, which takes files only, ends the process where memory does, and
// writes every line anew.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/markup.h"

namespace salient {

// A string of one or more quoted lines.
struct PoString {
  ByteRange range;    // from the first quotation mark to the last; empty if there is none
  std::string value;  // escapes undone
  bool is_there() const { return range.end > 0; }
};

struct PoEntry {
  PoString context, id, plural;
  std::vector<PoString> translations;  // one, or one a plural form
  bool fuzzy = false;
};

// Obsolete messages ("#~") are comments. INVALID_ARGUMENT names the line; limits as CheckText's.
absl::StatusOr<std::vector<PoEntry>> ReadPoEntries(std::string_view bytes, const DocumentLimits& limits);

}  // namespace salient
