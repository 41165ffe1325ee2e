// The part of the machine's processors that this process may use: the cores of its affinity mask, and the CPU time of
// its cgroup quota.

#pragma once

#include <filesystem>
#include <vector>

namespace salient {

// The cores that the calling thread's affinity allows, in ascending order; at least one.
std::vector<int> AllowedCores();

// The CPU quota of the process's cgroups (version 1 or 2), in cores: the smallest quota from its own cgroup up to the
// root. Infinite if there is no quota or it cannot be read. `root` is the folder that has proc and sys; tests set it.
double CpuQuota(const std::filesystem::path& root = "/");

// The smaller of the number of allowed cores and the quota rounded up; at least one.
int DefaultThreads();

// Whether the allowed cores are probably reserved for this process: they are fewer than the machine has, and there is
// no quota below their number. Only then should threads be pinned to them: if two servers pin a thread to the same
// core, they wait for each other while another core is idle.
bool OwnsItsCores();

}  // namespace salient
