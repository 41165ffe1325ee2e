// Open-loop load test of a server. Documents arrive by a Poisson process at a given rate, independent of the server. A
// latency counts from the time at which the document should have been sent, so that delays of a slow server are
// included.

#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "client/flags.h"

namespace salient {

// The arrival times of documents, in seconds from the start, ascending. The rate changes linearly from `rate` to
// `end_rate` documents per second. The same seed gives the same times.
std::vector<double> Arrivals(double rate, double end_rate, double seconds, uint64_t seed);

// Sends documents, waits, and writes the report: a table, or one JSON object. Progress goes to `err`. The exit status
// is 1 if the server cannot be reached, a file cannot be read, or no document was translated. Some refused documents
// are part of the result, not an error.
int RunBench(const BenchFlags& flags, std::ostream& out, std::ostream& err);

}  // namespace salient
