// The layout of --help: option and type, then the description, wrapped to the width of the terminal, with the default
// at the end.

#pragma once

#include <memory>

#include "CLI/CLI.hpp"

namespace salient {

std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace salient
