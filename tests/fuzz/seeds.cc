#include "tests/fuzz/seeds.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/fuzz/fuzz.h"

namespace salient {

std::optional<std::vector<std::string>> ReadCorpus(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) paths.push_back(entry.path());
  if (error) return std::nullopt;
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

bool WriteSeeds(const std::string& folder) {
  const std::vector<std::string> seeds = Seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder + "/seed-" + std::to_string(i), std::ios::binary);
    if (!(file << seeds[i]).flush()) {
      std::cerr << "cannot write into " << folder << "\n";
      return false;
    }
  }
  return true;
}

}  // namespace salient
