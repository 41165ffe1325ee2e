// How --help looks: a line of option and type, what it does beside it, wrapped to a terminal's width, the default at
// the end.

#pragma once

#include <memory>
#include <string>

#include "CLI/CLI.hpp"

namespace salient {

std::shared_ptr<CLI::FormatterBase> HelpFormatter();

}  // namespace salient
