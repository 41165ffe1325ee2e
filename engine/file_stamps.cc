#include "engine/file_stamps.h"

#include <sys/stat.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/files.h"

namespace salient {
namespace {

// Those that are read by name. A folder that cannot be listed can be read nevertheless.
std::vector<std::string> FilesOfModel(const std::string& folder) {
  std::vector<std::string> names = {"model.safetensors.index.json", "tokenizer.model", "target_tokenizer.model",
                                    "vocabulary.json", "source_vocabulary.json"};
  for (std::string& name : NamesIn(folder).value_or(std::vector<std::string>())) {
    if (name.ends_with(".safetensors")) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

FileStamps StampsOf(const std::string& folder) {
  FileStamps stamps;
  for (const std::string& name : FilesOfModel(folder)) {
    struct stat facts = {};
    if (stat(absl::StrCat(folder, "/", name).c_str(), &facts) != 0) continue;
    stamps[name] = {facts.st_size, facts.st_mtim.tv_sec * int64_t{1000000000} + facts.st_mtim.tv_nsec};
  }
  return stamps;
}

std::string FirstChanged(const FileStamps& before, const FileStamps& now) {
  for (const auto& [name, stamp] : before) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != stamp) return name;
  }
  for (const auto& [name, stamp] : now) {
    if (!before.contains(name)) return name;
  }
  return "";
}

}  // namespace salient
