#include "documents/input.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

std::string Before(std::string_view what) { return what.empty() ? "" : std::string(what) + ": "; }

}  // namespace

absl::Status CheckSize(std::string_view bytes, std::string_view what, const DocumentLimits& limits,
                       std::string_view remedy) {
  if (bytes.size() <= static_cast<size_t>(limits.max_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(Before(what), "has ", bytes.size(), " bytes; at most ",
                                                   limits.max_bytes, " are allowed; ", std::string(remedy)));
}

absl::Status CheckText(std::string_view bytes, std::string_view what, const DocumentLimits& limits) {
  if (absl::Status status = CheckSize(bytes, what, limits); !status.ok()) return status;
  const std::optional<size_t> invalid = FirstInvalidText(bytes);
  if (!invalid.has_value()) return absl::OkStatus();
  if (HasUtf16Mark(bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Before(what), "is in UTF-16; convert it, such as with `iconv -f UTF-16 -t UTF-8`"));
  }
  return absl::InvalidArgumentError(absl::StrCat(Before(what), "is not UTF-8 text at byte ", *invalid,
                                                 "; convert it, such as with `iconv -f ISO-8859-1 -t UTF-8`"));
}

size_t ByteOrderMark(std::string_view bytes) { return bytes.starts_with("\xef\xbb\xbf") ? 3 : 0; }

}  // namespace salient
