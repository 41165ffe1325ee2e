// A target's inputs to begin with: its seeds, and those that were kept of earlier searches (tests/fuzz/corpus).

#pragma once

#include <optional>
#include <string>
#include <vector>

namespace salient {

// The bytes of every file in the folder, by their names; nothing if it is not there or a file cannot be read.
std::optional<std::vector<std::string>> ReadCorpus(const std::string& folder);

// Writes Seeds() into the folder as files. False if that is not possible; says why.
bool WriteSeeds(const std::string& folder);

}  // namespace salient
