// The sources of the options of both programs: the command line, the environment, and a configuration file, in that
// order of precedence.

#pragma once

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace salient {

enum class UnknownKeys { kError, kIgnore };

// Allows every option that `app` has at this time to be set by the environment variable `prefix` + its name in capitals
// (--max-queue: SALIENT_SERVER_MAX_QUEUE), and by a TOML or INI file given with --config, whose keys are the options'
// names. Call it after all options are added. A repeatable option takes an array from the file; from the
// environment it takes a comma-separated list if its values can have no comma, otherwise a single value.
void ReadEnvironmentAndConfig(CLI::App& app, const std::string& prefix, UnknownKeys unknown);

// The names of variables in the environment that begin with `prefix`, but belong to none of the options above.
std::vector<std::string> UnknownVariables(const CLI::App& app, const std::string& prefix);

}  // namespace salient
