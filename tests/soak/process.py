"""Starts, samples and ends the server of a soak."""

import json
import os
import signal
import subprocess
import time
import urllib.request


class Server:
    def __init__(self, binary, folder, flags, ports):
        ready = folder / "ready"
        ready.unlink(missing_ok=True)
        with (folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [binary, *map(str, flags), "--listen", f"127.0.0.1:{ports[0]}", "--http", f"127.0.0.1:{ports[1]}",
                 "--admin", f"127.0.0.1:{ports[2]}", "--ready-file", ready], stderr=log)
        try:
            for _ in range(1200):
                if ready.exists() or self.process.poll() is not None:
                    break
                time.sleep(0.1)
            if not ready.exists():
                raise RuntimeError(f"the server did not start: see {folder / 'server.log'}")
        except BaseException:
            self.process.kill()
            raise
        self.ports = [int(json.loads(ready.read_text())[name].rsplit(":", 1)[1]) for name in ("grpc", "http", "admin")]

    def alive(self):
        return self.process.poll() is None

    def stop(self, seconds):
        """Sends SIGTERM. Returns the exit status, or None if it took longer than `seconds`."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def sample(self):
        """Resident memory in MiB, descriptors, threads, and the server's own gauges."""
        pid = self.process.pid
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":", 1) for line in file)
        fds = len(list(os.scandir(f"/proc/{pid}/fd")))
        return {"rss_mib": round(int(status["VmRSS"].split()[0]) / 1024), "fds": fds, "threads": int(status["Threads"]),
                **self.gauges()}

    def gauges(self):
        wanted = {"salient_requests_waiting": "waiting", "salient_requests_running": "running"}
        found = {}
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[2]}/metrics", timeout=10) as reply:
            for line in reply.read().decode().splitlines():
                name = line.split("{")[0].split(" ")[0]
                if name in wanted:
                    found[wanted[name]] = found.get(wanted[name], 0) + int(float(line.rsplit(" ", 1)[1]))
        return found
