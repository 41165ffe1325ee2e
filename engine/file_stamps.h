// Whether the files of a model's folder are still those that were read.

#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace salient {

// The size of a file, and when it was last written, in nanoseconds.
struct FileStamp {
  int64_t size = 0, written = 0;

  bool operator==(const FileStamp&) const = default;
};
using FileStamps = std::map<std::string, FileStamp>;  // by name

// Of all weights, lists of pieces and tokenizers that an engine may read in this folder, of those that are there. Not
// of config.json, which is compared itself.
FileStamps StampsOf(const std::string& folder);

// The name of a file that was changed, added or removed; empty: none was.
std::string FirstChanged(const FileStamps& before, const FileStamps& now);

}  // namespace salient
