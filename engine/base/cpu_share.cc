#include "engine/base/cpu_share.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "engine/base/cgroups.h"

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

constexpr CgroupLimit kCpu = {"cpu", ReadVersion2, ReadVersion1};

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

double CpuQuota(const std::filesystem::path& root) { return LeastLimit(kCpu, root); }

int DefaultThreads() {
  const auto cores = static_cast<double>(AllowedCores().size());
  return std::max(1, static_cast<int>(std::ceil(std::min(cores, CpuQuota()))));
}

bool OwnsItsCores() {
  const auto cores = static_cast<int64_t>(AllowedCores().size());
  return cores < sysconf(_SC_NPROCESSORS_ONLN) && CpuQuota() >= static_cast<double>(cores);
}

}  // namespace salient
