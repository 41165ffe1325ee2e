// Limits that Linux sets to groups of processes (cgroups, version 1 or 2), and so to a container.

#pragma once

#include <filesystem>

namespace salient {

// Which limit is meant, and how a group's folder says it.
struct CgroupLimit {
  const char* controller;  // as version 1 names it: "cpu", "memory"
  double (*read_version2)(const std::filesystem::path& group);
  double (*read_version1)(const std::filesystem::path& group);
};

// The least limit from the process's own group up to the root; infinite if there is none or it cannot be read. `root`
// is the folder that has proc and sys; tests set it.
double LeastLimit(const CgroupLimit& limit, const std::filesystem::path& root);

}  // namespace salient
