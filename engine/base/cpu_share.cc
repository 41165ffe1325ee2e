#include "engine/base/cpu_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

namespace salient {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Version 2's "QUOTA PERIOD" or "max PERIOD"; version 1's quota is -1 where there is no limit.
double Share(const std::string& quota, double period) {
  if (quota.empty() || quota == "max" || !(period > 0)) return kNoLimit;
  char* end = nullptr;
  const double microseconds = std::strtod(quota.c_str(), &end);
  return *end == '\0' && microseconds > 0 ? microseconds / period : kNoLimit;
}

double ReadVersion2(const std::filesystem::path& group) {
  std::string quota;
  double period = 0;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return Share(quota, period);
}

double ReadVersion1(const std::filesystem::path& group) {
  std::string quota;
  double period = 0;
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return Share(quota, period);
}

// The least share on the way from `group` up to where the hierarchy is mounted. In a container the path may be the
// host's,
// which is not there: what is there then is the mount itself, which is the container's own group.
template <typename ReadFn>
double Least(const std::filesystem::path& mount, const std::filesystem::path& group, ReadFn read) {
  double least = read(mount);
  std::filesystem::path at = mount;
  for (const auto& part : group.relative_path()) {
    if (part == "..") return least;  // the group lies outside of what this process can see
    at /= part;
    least = std::min(least, read(at));
  }
  return least;
}

// Whether `name` is one of the comma-separated `list`.
bool Lists(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::vector<int> AllowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

double CpuQuota(const std::filesystem::path& root) {
  double least = kNoLimit;
  std::ifstream groups(root / "proc/self/cgroup");
  // "0::/path" is version 2's, "4:cpu,cpuacct:/path" version 1's.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const std::filesystem::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) {
      least = std::min(least, Least(mounts, path, ReadVersion2));
    } else if (Lists(controllers, "cpu")) {
      // Distributions name the folder after the controllers, or link "cpu" to it.
      for (const char* folder : {controllers.c_str(), "cpu"}) {
        least = std::min(least, Least(mounts / folder, path, ReadVersion1));
      }
    }
  }
  return least;
}

int DefaultThreads() {
  const auto cores = static_cast<double>(AllowedCores().size());
  return std::max(1, static_cast<int>(std::ceil(std::min(cores, CpuQuota()))));
}

bool OwnsItsCores() {
  const auto cores = static_cast<int64_t>(AllowedCores().size());
  return cores < sysconf(_SC_NPROCESSORS_ONLN) && CpuQuota() >= static_cast<double>(cores);
}

}  // namespace salient
