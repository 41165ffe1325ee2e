#include "engine/base/memory_share.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
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

// The number behind a name, in a file with a name and a number on every line.
std::optional<double> ReadFact(const std::filesystem::path& path, const std::string& name) {
  std::ifstream facts(path);
  double value = 0;
  for (std::string word; facts >> word;) {
    if (word == name && facts >> value && value >= 0) return value;
  }
  return std::nullopt;
}

// What a group has left of its limit. What it uses includes `cache`, files that can be dropped.
double Left(const std::filesystem::path& limit, const std::filesystem::path& used, double cache) {
  const double most = ReadLimit(limit);
  if (most == kUnlimited) return kUnlimited;
  double bytes = 0;
  std::ifstream(used) >> bytes;
  return std::max(most - std::max(bytes - cache, 0.0), 0.0);
}

double LeftOfVersion2(const std::filesystem::path& group) {
  const double cache = ReadFact(group / "memory.stat", "inactive_file").value_or(0);
  return Left(group / "memory.max", group / "memory.current", cache);
}

// What is used there includes the groups below; so does the cache only under its "total" name.
double LeftOfVersion1(const std::filesystem::path& group) {
  const std::filesystem::path facts = group / "memory.stat";
  const double own = ReadFact(facts, "inactive_file").value_or(0);
  return Left(group / "memory.limit_in_bytes", group / "memory.usage_in_bytes",
              ReadFact(facts, "total_inactive_file").value_or(own));
}

constexpr CgroupLimit kMemory = {"memory", LeftOfVersion2, LeftOfVersion1};

// "MemAvailable:  24576000 kB", which kernels before 3.14 do not say.
double MachineMemory(const std::filesystem::path& root) {
  for (const char* name : {"MemAvailable:", "MemTotal:"}) {
    const std::optional<double> kilobytes = ReadFact(root / "proc/meminfo", name);
    if (kilobytes.has_value() && *kilobytes > 0) return *kilobytes * 1024;
  }
  return kUnlimited;
}

}  // namespace

int64_t AvailableMemory(const std::filesystem::path& root) {
  const double least = std::min(MachineMemory(root), LeastLimit(kMemory, root));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return least < static_cast<double>(kMost) ? static_cast<int64_t>(least) : kMost;
}

}  // namespace salient
