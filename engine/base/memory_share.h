// The part of the machine's memory that this process may use.

#pragma once

#include <cstdint>
#include <filesystem>

namespace salient {

// In bytes: the machine's memory, or the limit of the process's cgroups if that is less. The greatest number if neither
// can be read. `root` is the folder that has proc and sys; tests set it.
int64_t MemoryLimit(const std::filesystem::path& root = "/");

}  // namespace salient
