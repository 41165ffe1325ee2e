// What a byte is, in ASCII, and membership in short lists.

#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "absl/strings/ascii.h"

namespace salient {

inline bool IsSpace(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
inline bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }
inline bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

inline bool IsOneOf(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
inline bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace salient
