// The server's command line.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/engine.h"
#include "server/log.h"
#include "server/server.h"

namespace salient {

struct ServerFlags {
  ServerOptions server;  // but for `access`, which is opened from the files that follow
  AccessOptions access;
  std::vector<EngineOptions> models;  // one engine each, in the order given
  DrainOptions drain;
  std::string ready_file;
  bool exit_when_dead = false;
  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;
};

// Reads the command line, the environment and the configuration file. If the program is to end at once, because help
// was asked for or an option is wrong, what there is to say has been printed and `exit_code` is set.
struct ParsedServerFlags {
  ServerFlags flags;
  std::optional<int> exit_code;
};
ParsedServerFlags ParseServerFlags(int argc, const char* const* argv);

}  // namespace salient
