// The messages of a PO file, with the byte ranges of their strings.
//
// libgettextpo is not used: it reads only files, exits the process if memory is exhausted, and rewrites every line.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/markup.h"

namespace salient {

// A string, which has one or more quoted lines.
struct PoString {
  ByteRange range;    // from the first quotation mark to the last; empty if there is none
  std::string value;  // unescaped
  bool is_there() const { return range.end > 0; }
};

struct PoEntry {
  PoString context, id, plural;
  std::vector<PoString> translations;  // one, or one for each plural form
  bool fuzzy = false;
};

// Obsolete messages ("#~") are comments. INVALID_ARGUMENT names the line, such as that of a message's 17th translation;
// limits as CheckText's.
absl::StatusOr<std::vector<PoEntry>> ReadPoEntries(std::string_view bytes, const DocumentLimits& limits);

// What stands behind the backslash of an escape, and what it means.
inline constexpr std::string_view kPoEscapes = "ntrabfv\"\\", kPoMeanings = "\n\t\r\a\b\f\v\"\\";

// The character that the header declares as the mark of accelerators ("X-Accelerator-Marker: &").
std::optional<char> AcceleratorMark(const std::vector<PoEntry>& entries);

}  // namespace salient
