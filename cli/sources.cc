#include "cli/sources.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <istream>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"

namespace salient {
namespace {

std::string VariableName(const std::string& prefix, std::string option) {
  for (char& c : option) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return prefix + option;
}

// In CLI11 a configuration file has priority over the environment. In a container the file belongs to the image or the
// cluster, and the environment to the deployment. So a key of the file is ignored here if its variable is set.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  explicit FileBelowEnvironment(std::string prefix) : prefix_(std::move(prefix)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> keys = CLI::ConfigTOML::from_config(input);
    const auto is_set = [this](const CLI::ConfigItem& item) {
      const char* value = std::getenv(VariableName(prefix_, item.name).c_str());
      return value != nullptr && *value != '\0';
    };
    keys.erase(std::remove_if(keys.begin(), keys.end(), is_set), keys.end());
    return keys;
  }

 private:
  std::string prefix_;
};

}  // namespace

void ReadEnvironmentAndConfig(CLI::App& app, const std::string& prefix, UnknownKeys unknown) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || !option->get_configurable()) continue;
    option->envname(VariableName(prefix, option->get_lnames().front()));
  }
  // CLI11 looks for the file before it reads the environment. So a file that the environment names becomes the default,
  // and required, because CLI11 ignores a missing file otherwise.
  const char* file = std::getenv(VariableName(prefix, "config").c_str());
  const bool is_named = file != nullptr && *file != '\0';
  app.set_config("--config", is_named ? file : "", "A TOML or INI file of these options, each a line NAME = VALUE",
                 is_named)
      ->type_name("FILE");
  app.allow_config_extras(unknown == UnknownKeys::kError ? CLI::config_extras_mode::error
                                                         : CLI::config_extras_mode::ignore_all);
  app.config_formatter(std::make_shared<FileBelowEnvironment>(prefix));
}

std::vector<std::string> UnknownVariables(const CLI::App& app, const std::string& prefix) {
  std::set<std::string> known = {VariableName(prefix, "config")};
  for (const CLI::Option* option : app.get_options()) known.insert(option->get_envname());
  std::vector<std::string> unknown;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    std::string name = variable.substr(0, variable.find('='));
    if (absl::StartsWith(name, prefix) && known.count(name) == 0) unknown.push_back(std::move(name));
  }
  return unknown;
}

}  // namespace salient
