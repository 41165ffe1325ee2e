#include "cli/sources.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <istream>
#include <memory>
#include <numeric>
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

// How many letters must be added, left out or replaced to make one of the other.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);  // from the beginning of `a` to each beginning of `b`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// The option that `name` is probably meant to be; empty: none. In a short name two letters are too much.
std::string Nearest(const std::string& name, const std::set<std::string>& options) {
  constexpr size_t kShort = 5;
  std::string nearest;
  size_t least = name.size() <= kShort ? 2 : 3;
  for (const std::string& option : options) {
    const size_t distance = Distance(name, option);
    if (distance >= least) continue;
    least = distance;
    nearest = option;
  }
  return nearest;
}

// The names of the variables of the environment that begin with `prefix`.
std::vector<std::string> VariablesWith(const std::string& prefix) {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (absl::StartsWith(variable, prefix)) names.push_back(variable.substr(0, variable.find('=')));
  }
  return names;
}

// In CLI11 a configuration file has priority over the environment. In a container the file belongs to the image or the
// cluster, and the environment to the deployment. So a key of the file is ignored here if its variable is set. Keys
// that are not known are refused, with a better message than CLI11's.
class FileBelowEnvironment : public CLI::ConfigTOML {
 public:
  FileBelowEnvironment(std::string prefix, std::set<std::string> known)
      : prefix_(std::move(prefix)), known_(std::move(known)) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::vector<CLI::ConfigItem> keys = CLI::ConfigTOML::from_config(input);
    for (const CLI::ConfigItem& item : keys) Check(item);
    const auto is_set = [this](const CLI::ConfigItem& item) {
      const char* value = std::getenv(VariableName(prefix_, item.name).c_str());
      return value != nullptr && *value != '\0';
    };
    keys.erase(std::remove_if(keys.begin(), keys.end(), is_set), keys.end());
    return keys;
  }

 private:
  // A FileError lets --help work all the same.
  void Check(const CLI::ConfigItem& item) const {
    if (!item.parents.empty()) {
      throw CLI::FileError("--config: '" + item.parents.front() +
                           "' is a section or the beginning of a name with a dot; options have neither");
    }
    if (known_.contains(item.name)) return;
    const std::string nearest = Nearest(item.name, known_);
    throw CLI::FileError("--config: there is no option '" + item.name + "'" +
                         (nearest.empty() ? "" : "; is '" + nearest + "' meant?"));
  }

  std::string prefix_;
  std::set<std::string> known_;
};

}  // namespace

std::set<std::string> OptionNames(const CLI::App& app) {
  std::set<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_lnames().empty() && option->get_configurable()) names.insert(option->get_lnames().front());
  }
  return names;
}

void ReadEnvironmentAndConfig(CLI::App& app, const std::string& prefix, const std::set<std::string>& others) {
  std::set<std::string> known = OptionNames(app);
  for (const std::string& name : known) app.get_option("--" + name)->envname(VariableName(prefix, name));
  // CLI11 looks for the file before it reads the environment. So a file that the environment names becomes the default,
  // and required, because CLI11 ignores a missing file otherwise.
  const char* file = std::getenv(VariableName(prefix, "config").c_str());
  const bool is_named = file != nullptr && *file != '\0';
  app.set_config("--config", is_named ? file : "", "A TOML or INI file of these options, each a line NAME = VALUE",
                 is_named)
      ->type_name("FILE");
  known.insert(others.begin(), others.end());
  app.allow_config_extras(CLI::config_extras_mode::ignore_all);  // there are only others
  app.config_formatter(std::make_shared<FileBelowEnvironment>(prefix, std::move(known)));
}

std::vector<std::string> UnknownVariables(const CLI::App& app, const std::string& prefix) {
  std::set<std::string> known = {VariableName(prefix, "config")};
  for (const CLI::Option* option : app.get_options()) known.insert(option->get_envname());
  std::vector<std::string> unknown = VariablesWith(prefix);
  std::erase_if(unknown, [&known](const std::string& name) { return known.contains(name); });
  return unknown;
}

std::vector<MisspeltVariable> MisspeltVariables(const std::set<std::string>& options, const std::string& prefix) {
  std::set<std::string> known = {"CONFIG"};
  for (const std::string& option : options) known.insert(VariableName("", option));
  std::vector<MisspeltVariable> misspelt;
  for (const std::string& name : VariablesWith(prefix)) {
    const std::string rest = name.substr(prefix.size());
    const std::string meant = known.contains(rest) ? "" : Nearest(rest, known);
    if (!meant.empty()) misspelt.push_back({name, prefix + meant});
  }
  return misspelt;
}

}  // namespace salient
