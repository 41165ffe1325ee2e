// `salient tune`: compares settings on the user's documents, in time and in quality.

#pragma once

#include <ostream>

#include "client/flags.h"

namespace salient {

// The exit status is 1 if a file cannot be read, the server cannot be reached, or the baseline fails. A setting that
// fails is told, and left out.
int RunTune(const TuneFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace salient
