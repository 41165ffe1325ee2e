// What this process may use of the machine's processors: those that its affinity names, and of their time what its
// cgroups grant.

#pragma once

#include <filesystem>
#include <vector>

namespace salient {

// The cores that the calling thread's affinity allows, in ascending order; at least one.
std::vector<int> AllowedCores();

// How many cores' worth of time the cgroups that the process is in grant it, version 1 or 2: the least of all from its
// own
// up to the root. Infinite where none limits it, or where that cannot be read. Below `root` lie proc and sys, which is
// for
// tests.
double CpuQuota(const std::filesystem::path& root = "/");

// As many threads as there are allowed cores, and as the quota keeps busy, rounded up; at least one.
int DefaultThreads();

// Whether the allowed cores are likely to be this process's own: fewer than the machine has, because somebody chose
// them, and
// with no quota below them. Only then is it right to pin threads to them: two servers that both pin a thread to the
// same
// core wait for each other while another core is idle.
bool OwnsItsCores();

}  // namespace salient
