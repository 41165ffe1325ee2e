"""Several servers behind one name, started and ended in the order in which Kubernetes does it with deploy/base."""

import os
import signal
import threading
import time

from names import NameServer
from programs import Server

PORT = 50951
ADMIN = 9591
NAME = "salient-headless.test"

# As in deploy/base/settings.env, with shorter times. One thread each, because three servers share the machine.
FLAGS = ["--threads", "1", "--max-queue", "16", "--max-connection-age", "10", "--drain-delay", "2",
         "--drain-seconds", "30"]
SLEEP = 1.0  # preStop


class Cluster:
    def __init__(self, folder, replicas=3, flags=FLAGS):
        self.folder, self.flags = folder, list(flags)
        self.names = NameServer()
        self.servers = []
        self.gone = []
        self._next = 0
        # Addresses that no other test uses.
        self._network = f"127.{os.getpid() % 200 + 20}.{os.getpid() // 200 % 250}"
        try:
            for _ in range(replicas):
                self.add()
        except BaseException:
            self.close()
            raise

    @property
    def target(self):
        """The target for gRPC clients: the name, resolved by our name server."""
        return f"dns://{self.names.address}/{NAME}:{PORT}"

    def add(self):
        """Adds a replica. DNS has it as soon as it is ready."""
        self._next += 1
        server = Server(self.folder, *self.flags, host=f"{self._network}.{self._next}", port=PORT, admin=ADMIN)
        self.servers.append(server)
        self.names.addresses = [*self.names.addresses, server.host]
        return server

    def kill(self, server):
        """Ends a server as when its node fails: without notice; DNS removes it when a probe fails."""
        self.servers.remove(server)
        server.signal(signal.SIGKILL)
        server.process.wait()
        threading.Timer(2, lambda: self._forget(server)).start()

    def terminate(self, server):
        """Deletes a pod: it leaves DNS, preStop's sleep begins at once, then SIGTERM follows. Returns its exit
        status."""
        self.servers.remove(server)
        self.gone.append(server)
        self._forget(server)
        time.sleep(SLEEP)
        return server.stop(seconds=60)

    def restart_all(self):
        """A rolling update with maxSurge 1 and maxUnavailable 0. Returns the exit statuses of the old servers."""
        statuses = []
        for server in list(self.servers):
            self.add()
            statuses.append(self.terminate(server))
        return statuses

    def _forget(self, server):
        self.names.addresses = [address for address in self.names.addresses if address != server.host]

    def close(self):
        for server in self.servers:
            server.__exit__()
        self.names.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
