"""Soak test of a server: see scripts/soak and docs/reliability.md.

Every finished translation is compared with the translation of the same document alone, which the same server gave
before the load began. A call is lost if it has no answer, or if the server had accepted it before a SIGTERM and did not
finish it.
"""

import argparse
import collections
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import behaviours
import mix
from credentials import Credentials
from process import Server

ROOT = Path(__file__).resolve().parents[2]
HERDS, CLIENTS = 4, 16  # these live as long as the soak
VICTIMS = 16  # these are killed and restarted
KILL_EVERY, REPLACE_EVERY, SAMPLE_EVERY = 20, 45, 60
DRAIN = 300  # seconds that documents in flight have; the queue is bounded so that this is enough
SETTLE = 15  # seconds after a start or before SIGTERM in which connections may fail
FLAGS = ["--max-queue", 32, "--drain-seconds", DRAIN, "--max-connection-age", 60, "--log-format", "json",
         "--kv-memory", "256MiB"]


class Soak:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.counts = collections.Counter()
        self.suspicions, self.samples, self.restarts = [], [], []
        self.lock = threading.Lock()
        self.herds = {}
        subprocess.run(["protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}",
                        ROOT / "proto/salient/v1/translation.proto"], check=True)
        sys.path.insert(0, str(folder))
        self.api = importlib.import_module("salient.v1.translation_pb2")
        self.credentials = Credentials(folder)
        self.flags = ["--model", args.model, *FLAGS, *self.credentials.server_flags()]
        self.server = Server(args.server, folder, self.flags, (0, 0, 0))
        self.ports = self.server.ports

    # ---- What is asked for, and its answer alone ----

    def prepare(self):
        texts = [path.read_text() for path in sorted((ROOT / "docs/samples").glob("*.en.txt"))]
        texts += [(ROOT / "docs" / name).read_text() for name in ("operating.md", "failures.md", "scaling.md")]
        requests = mix.make(self.api, texts, self.args.documents, self.args.seed)
        client = behaviours.Client(self.api, self.folder, self.ports, [], None, 0)
        client.connect()
        prints = []
        for request in requests:
            alone = client.unary(request, **client.call())
            prints.append(mix.fingerprint(alone))
        data = [request.SerializeToString() for request in requests]
        (self.folder / "requests").write_bytes(b"".join(data))
        (self.folder / "expected").write_text("".join(f"{len(d)} {p}\n" for d, p in zip(data, prints)))
        (self.folder / "long").write_bytes(mix.long_request(self.api, texts[:1]).SerializeToString())

    # ---- Clients ----

    def start_herd(self, number, clients):
        process = subprocess.Popen(
            [sys.executable, Path(__file__).parent / "herd.py", "--folder", self.folder, "--ports",
             ",".join(map(str, self.ports)), "--clients", str(clients), "--seed", str(time.time_ns() % 1000003)],
            stdout=subprocess.PIPE, stderr=(self.folder / "clients.log").open("a"), text=True)
        self.herds[number] = process
        threading.Thread(target=self.listen, args=(process,), daemon=True).start()

    def listen(self, process):
        for line in process.stdout:
            told = json.loads(line)
            with self.lock:
                self.counts.update(told["counts"])
                self.suspicions += told["suspicions"]

    # ---- What happens meanwhile ----

    def restart(self):
        begun = time.time()
        status = self.server.stop(DRAIN + 30)
        ended = time.time()
        self.server = Server(self.args.server, self.folder, self.flags, self.ports)
        self.restarts.append({"term": begun, "ended": ended, "ready": time.time(), "status": status})
        print(f"  restart: exit status {status}, drained in {ended - begun:.1f} s", flush=True)

    def run(self):
        begun = self.begun = time.time()
        end = begun + 60 * self.args.minutes
        for number in range(HERDS):
            self.start_herd(number, CLIENTS)
        # All restarts are in the first quarter, so that the rest shows one process for a long time.
        restarts = [begun + 60 * self.args.minutes * part for part in (1 / 12, 2 / 12, 3 / 12)]
        next_kill, next_replace, next_sample = begun, begun + REPLACE_EVERY, begun
        replaced = 0
        while (now := time.time()) < end:
            if not self.server.alive():
                raise RuntimeError(f"the server ended by itself with {self.server.process.returncode}")
            if restarts and now >= restarts[0]:
                restarts = [at for at in restarts if at > now]
                self.restart()
            if now >= next_kill:
                next_kill = now + KILL_EVERY
                if HERDS in self.herds:
                    self.herds[HERDS].kill()
                    self.herds[HERDS].wait()
                    self.counts["clients/killed"] += VICTIMS
                self.start_herd(HERDS, VICTIMS)
            if now >= next_replace:
                next_replace = now + REPLACE_EVERY
                self.credentials.replace_keys()
                for name in ("server", "client"):
                    self.credentials.issue(name)
                replaced += 1
            if now >= next_sample:
                next_sample += SAMPLE_EVERY
                self.sample(begun)
            time.sleep(0.2)
        self.counts["keys and certificates/replaced"] = replaced
        for process in self.herds.values():
            process.kill()
            process.wait()
        self.settle(begun)
        self.minutes = (time.time() - begun) / 60

    def sample(self, begun):
        with self.lock:
            documents = sum(count for key, count in self.counts.items() if key.endswith("/ok"))
        sample = {"minute": round((time.time() - begun) / 60, 1), **self.server.sample(), "finished": documents}
        self.samples.append(sample)
        print("  " + "  ".join(f"{name} {value}" for name, value in sample.items()), flush=True)

    def settle(self, begun):
        """All clients have ended, so all their documents must be gone."""
        for _ in range(60):
            if not any(self.server.gauges().get(name) for name in ("waiting", "running")):
                break
            time.sleep(1)
        time.sleep(2)
        self.sample(begun)

    # ---- What came of it ----

    def judged(self):
        """The suspicions that no restart explains; how many calls never came to the server; and of how many the server
        says that they were late.

        A client may begin a call on a connection that the server is closing, because of its age. If the server has not
        seen the call, nothing is lost: a client sends it again. A call that comes to its deadline on such a connection
        may be told that the connection is closed.
        """
        bad, unseen, late, outcomes = [], 0, 0, self.outcomes_in_log()
        for action, outcome, detail, begun, ended, request_id in self.suspicions:
            window = next((restart for restart in self.restarts
                           if begun <= restart["ready"] + SETTLE and ended >= restart["term"] - SETTLE), None)
            where = f"minute {(begun - self.begun) / 60:.1f}, request {request_id}"
            closed = outcome in ("UNAVAILABLE", "connection") and window is None
            if closed and request_id not in outcomes:
                unseen += 1
            elif closed and action == "in_a_hurry" and outcomes[request_id] == "deadline_exceeded":
                late += 1
            elif outcome == "WRONG" or window is None:
                bad.append(f"{action}: {outcome}: {detail} ({where})")
            elif action in ("unary", "streamed", "over_http") and begun < window["term"] - SETTLE:
                bad.append(f"{action}: lost in a restart: {outcome}: {detail} ({where})")
        return bad, unseen, late

    def outcomes_in_log(self):
        """By the name of each call of which the server has a line in its log."""
        found = {}
        with (self.folder / "server.log").open(encoding="utf-8", errors="replace") as log:
            for line in log:
                if line.startswith("{") and (request_id := (fields := json.loads(line)).get("request_id")):
                    found[request_id] = fields.get("outcome")
        return found

    def report(self):
        failures, unseen, late = self.judged()
        excused = len(self.suspicions) - len(failures) - unseen - late
        last = self.samples[-1]
        failures += [f"restart: exit status {r['status']}" for r in self.restarts if r["status"] != 0]
        failures += [f"left over when all clients were gone: {name} {last[name]}" for name in ("waiting", "running")
                     if last.get(name)]
        if self.server.stop(60) != 0:
            failures.append("the server did not stop in peace")
        outcomes = collections.defaultdict(dict)
        for key, count in sorted(self.counts.items()):
            action, outcome = key.split("/")
            outcomes[action][outcome] = count
        return {"minutes": round(self.minutes, 1), "clients": HERDS * CLIENTS + VICTIMS,
                "requests": self.args.documents,
                "processors": os.cpu_count(), "nice": os.nice(0), "outcomes": outcomes,
                "excused_by_restarts": excused, "never_arrived": unseen, "late_while_closing": late,
                "restarts": len(self.restarts),
                "drained_in_seconds": [round(r["ended"] - r["term"], 1) for r in self.restarts],
                "samples": self.samples, "failures": failures}


def tell(report):
    print(f"\n{report['minutes']} minutes, {report['clients']} clients, {report['restarts']} restarts")
    for action, outcomes in report["outcomes"].items():
        print(f"  {action:28}" + ", ".join(f"{outcome} {count}" for outcome, count in outcomes.items()))
    print(f"  {report['excused_by_restarts']} calls failed while the server was restarted, which is as it should be")
    print(f"  {report['never_arrived']} calls never came to the server, which was closing an old connection")
    print(f"  {report['late_while_closing']} calls came to their deadline while the server was closing their connection")
    for failure, count in collections.Counter(report["failures"]).most_common(40):
        print(f"  FAILED ({count}): {failure}")
    print("nothing lost, nothing wrong" if not report["failures"] else f"{len(report['failures'])} failures")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument("--server", type=Path, default=ROOT / "build/release/bin/salient-server")
    parser.add_argument("--model", type=Path, default=ROOT / "models/en-de")
    parser.add_argument("--documents", type=int, default=78, help="different requests")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=Path, help="write a JSON report here")
    parser.add_argument("--folder", type=Path, help="keep logs and certificates here")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends what it has started, as Ctrl-C does
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(args, folder)
        try:
            soak.prepare()
            soak.run()
            report = soak.report()
        finally:
            for process in [*soak.herds.values(), soak.server.process]:
                if process.poll() is None:
                    process.kill()
        if args.report:
            args.report.write_text(json.dumps(report, indent=1) + "\n")
        tell(report)
        sys.exit(1 if report["failures"] else 0)


if __name__ == "__main__":
    main()
