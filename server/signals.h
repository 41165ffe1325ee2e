// Waits for SIGTERM and SIGINT.

#pragma once

namespace salient {

// Blocks SIGTERM and SIGINT in this thread and all threads that it starts later. Call it before any other thread
// starts, then call WaitForSignal from one thread.
void HoldSignals();

// Waits for a signal and returns it; it may have arrived before the call.
int WaitForSignal();

}  // namespace salient
