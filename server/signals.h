// SIGTERM and SIGINT, as something to wait for.

#pragma once

namespace salient {

// Holds SIGTERM and SIGINT back in this thread and in all that it starts from now on: call it before any other thread
// is started, then WaitForSignal from one thread.
void HoldSignals();

// Returns the signal that came, which may have come long before the call.
int WaitForSignal();

}  // namespace salient
