// Waits for SIGTERM and SIGINT, and for SIGHUP where it has a meaning.

#pragma once

namespace salient {

// Blocks SIGTERM and SIGINT, and SIGHUP if it asks for a reload, in this thread and all threads that it starts later.
// Call it before any other thread starts, then call WaitForSignal from one thread. Without `reload` SIGHUP ends the
// process, as when its terminal is closed.
void HoldSignals(bool reload);

// Waits for a signal and returns it; it may have arrived before the call.
int WaitForSignal();

}  // namespace salient
