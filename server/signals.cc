#include "server/signals.h"

#include <pthread.h>
#include <signal.h>

namespace salient {
namespace {

bool reloads = false;  // set before any other thread starts

sigset_t OurSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  if (reloads) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void HoldSignals(bool reload) {
  reloads = reload;
  const sigset_t set = OurSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

int WaitForSignal() {
  const sigset_t set = OurSignals();
  int number = 0;
  while (sigwait(&set, &number) != 0) {
  }
  return number;
}

}  // namespace salient
