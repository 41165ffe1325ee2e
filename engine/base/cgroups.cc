#include "engine/base/cgroups.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace salient {
namespace {

// The least limit on the way from `group` up to where the hierarchy is mounted. In a container the path may be the
// host's, which is not there: what is there then is the mount itself, which is the container's own group.
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

double LeastLimit(const CgroupLimit& limit, const std::filesystem::path& root) {
  double least = std::numeric_limits<double>::infinity();
  std::ifstream groups(root / "proc/self/cgroup");
  // "0::/path" is version 2's, "4:cpu,cpuacct:/path" version 1's.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const std::filesystem::path mounts = root / "sys/fs/cgroup";
    if (controllers.empty()) {
      least = std::min(least, Least(mounts, path, limit.read_version2));
    } else if (Lists(controllers, limit.controller)) {
      // Distributions name the folder after the controllers, or link the controller's name to it.
      for (const char* folder : {controllers.c_str(), limit.controller}) {
        least = std::min(least, Least(mounts / folder, path, limit.read_version1));
      }
    }
  }
  return least;
}

}  // namespace salient
