// Load for a server, and what it makes of it: an open loop. Documents arrive by a Poisson process at a rate, whatever
// the server does, and a latency counts from the moment when its document should have been sent: so a server that is
// slow does not slow down the measuring of it.

#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "client/flags.h"

namespace salient {

// When documents arrive, in seconds from the start, ascending: at `rate` a second at first, at `end_rate` at last,
// straight in between. The same for the same seed.
std::vector<double> Arrivals(double rate, double end_rate, double seconds, uint64_t seed);

// Sends, waits and reports: a table, or one JSON object. Progress goes to `err`. The exit status is 1 if the server
// cannot be reached or a file not be read; refused documents are a result like others.
int RunBench(const BenchFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace salient
