// Checks of numbers on a command line.

#pragma once

#include "CLI/CLI.hpp"

namespace salient {

// For real numbers, instead of CLI::Range, which lets nan pass, since it is neither below nor above.
CLI::Validator Between(double least, double most);

}  // namespace salient
