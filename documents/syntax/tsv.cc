#include "documents/syntax/tsv.h"

#include <algorithm>
#include <array>

#include "documents/input.h"

namespace salient {

absl::Status ForEachTsvRow(std::string_view bytes, TsvRow row) {
  size_t line = 1;
  for (size_t begin = ByteOrderMark(bytes); begin < bytes.size(); ++line) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view text = bytes.substr(begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    begin = end + 1;
    if (text.empty()) continue;
    std::array<std::string_view, 3> fields;
    size_t count = 1;
    for (size_t tab = text.find('\t'); tab != text.npos && count < fields.size(); tab = text.find('\t')) {
      fields[count++ - 1] = text.substr(0, tab);
      text.remove_prefix(tab + 1);
    }
    fields[count - 1] = text;
    if (absl::Status status = row(line, absl::MakeConstSpan(fields).first(count)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace salient
