// salient: the command line client.

#include <unistd.h>

#include <iostream>

#include "client/bench.h"
#include "client/flags.h"
#include "client/models.h"
#include "client/translate.h"

int main(int argc, char** argv) {
  const salient::ParsedClientFlags parsed = salient::ParseClientFlags(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  if (parsed.models.has_value()) return salient::RunModels(*parsed.models, std::cout, std::cerr);
  if (parsed.bench.has_value()) return salient::RunBench(*parsed.bench, std::cout, std::cerr);
  return salient::RunTranslate(*parsed.translate, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
}
