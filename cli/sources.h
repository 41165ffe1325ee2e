// The sources of the options of both programs: the command line, the environment, and a configuration file, in that
// order of precedence.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace salient {

// Allows every option that `app` has at this time to be set by the environment variable `prefix` + its name in capitals
// (--max-queue: SALIENT_SERVER_MAX_QUEUE), and by a TOML or INI file given with --config, whose keys are the options'
// names. Call it after all options are added. Another key is an error, unless it is one of `others`: options of other
// commands, for which the same file is meant. A repeatable option takes an array from the file; from the
// environment it takes a comma-separated list if its values can have no comma, otherwise a single value.
void ReadEnvironmentAndConfig(CLI::App& app, const std::string& prefix, const std::set<std::string>& others = {});

// The names of the options of `app` that may be set by those sources.
std::set<std::string> OptionNames(const CLI::App& app);

// The names of variables in the environment that begin with `prefix`, but belong to none of the options above.
std::vector<std::string> UnknownVariables(const CLI::App& app, const std::string& prefix);

// A variable of the environment that is probably misspelt, and the option's variable that it is like.
struct MisspeltVariable {
  std::string name, meant;
};
// Those that begin with `prefix`. Others with this prefix may well be there, for other programs.
std::vector<MisspeltVariable> MisspeltVariables(const std::set<std::string>& options, const std::string& prefix);

}  // namespace salient
