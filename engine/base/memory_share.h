// The part of the machine's memory that this process may still take.

#pragma once

#include <cstdint>
#include <filesystem>

namespace salient {

// In bytes: what the machine has available, or what the process's cgroups have left of their limits if that is less.
// Cached files that are not in use can be dropped, so they count as available. The greatest number if neither can be
// read. `root` is the folder that has proc and sys; tests set it.
int64_t AvailableMemory(const std::filesystem::path& root = "/");

}  // namespace salient
