#include "engine/base/memory_share.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "engine/base/cgroups.h"

namespace salient {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A file with a number of bytes, or with version 2's "max".
double ReadLimit(const std::filesystem::path& path) {
  std::string limit;
  std::ifstream(path) >> limit;
  char* end = nullptr;
  const double bytes = std::strtod(limit.c_str(), &end);
  return !limit.empty() && *end == '\0' && bytes > 0 ? bytes : kUnlimited;
}

constexpr CgroupLimit kMemory = {
    "memory", [](const std::filesystem::path& group) { return ReadLimit(group / "memory.max"); },
    [](const std::filesystem::path& group) { return ReadLimit(group / "memory.limit_in_bytes"); }};

// "MemTotal:  24576000 kB"
double MachineMemory(const std::filesystem::path& root) {
  std::ifstream facts(root / "proc/meminfo");
  double kilobytes = 0;
  for (std::string name; facts >> name;) {
    if (name == "MemTotal:" && facts >> kilobytes && kilobytes > 0) return kilobytes * 1024;
  }
  return kUnlimited;
}

}  // namespace

int64_t MemoryLimit(const std::filesystem::path& root) {
  const double least = std::min(MachineMemory(root), LeastLimit(kMemory, root));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return least < static_cast<double>(kMost) ? static_cast<int64_t>(least) : kMost;
}

}  // namespace salient
