// The server's command line.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine.h"
#include "server/server.h"
#include "server/telemetry/log.h"

namespace salient {

struct ServerFlags {
  ServerOptions server;  // all fields except `access`, which is opened from the files below
  AccessOptions access;
  DrainOptions drain;
  std::string ready_file;
  bool exit_when_dead = false;
  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;
  std::vector<std::string> unknown_variables;  // of the environment: named like options, but none of them
};

// Reads the command line, the environment and the configuration file. If help was requested or an option is invalid,
// the message is already printed and `exit_code` is set: the program must exit with it.
struct ParsedServerFlags {
  ServerFlags flags;
  std::optional<int> exit_code;
};
ParsedServerFlags ParseServerFlags(int argc, const char* const* argv);

}  // namespace salient
