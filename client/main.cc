// salient: the command line client.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "client/bench.h"
#include "client/flags.h"
#include "client/models.h"
#include "client/translate.h"
#include "client/tune.h"

int main(int argc, char** argv) {
  const salient::ParsedClientFlags parsed = salient::ParseClientFlags(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  if (parsed.models.has_value()) return salient::RunModels(*parsed.models, std::cout, std::cerr);
  if (parsed.bench.has_value()) return salient::RunBench(*parsed.bench, std::cout, std::cerr);
  if (parsed.tune.has_value()) return salient::RunTune(*parsed.tune, std::cout, std::cerr);
  const char* terminal = std::getenv("TERM");
  const bool can_erase = terminal != nullptr && std::string_view(terminal) != "dumb";  // such as that within Emacs
  return salient::RunTranslate(*parsed.translate, std::cout, std::cerr, can_erase && isatty(STDERR_FILENO) != 0);
}
