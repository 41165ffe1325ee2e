"""Some clients, one per thread, until the process is ended. Writes one JSON object per line to standard output: how
often each outcome occurred, and every call without a good outcome."""

import argparse
import collections
import importlib
import json
import ssl
import sys
import threading
import time
from pathlib import Path

import grpc

import behaviours

CALLS_A_CONNECTION = 50
TELL_EVERY = 5


class Herd:
    def __init__(self, args):
        sys.path.insert(0, str(args.folder))
        self.api = importlib.import_module("salient.v1.translation_pb2")
        requests = (args.folder / "requests").read_bytes()
        self.expected = []
        for line in (args.folder / "expected").read_text().splitlines():
            size, print_ = line.split()
            message = self.api.TranslateDocumentRequest.FromString(requests[:int(size)])
            requests = requests[int(size):]
            self.expected.append((message, print_))
        self.long = self.api.TranslateDocumentRequest.FromString((args.folder / "long").read_bytes())
        self.args = args
        self.lock = threading.Lock()
        self.counts = collections.Counter()
        self.suspicions = []

    def run(self):
        for i in range(self.args.clients):
            threading.Thread(target=self.live, args=(i,), daemon=True).start()
        while True:
            time.sleep(TELL_EVERY)
            with self.lock:
                told = {"counts": {"/".join(key): count for key, count in self.counts.items()},
                        "suspicions": self.suspicions}
                self.counts, self.suspicions = collections.Counter(), []
            print(json.dumps(told), flush=True)

    def live(self, number):
        client = behaviours.Client(self.api, self.args.folder, self.args.ports, self.expected, self.long,
                                   self.args.seed * 1000 + number)
        actions, weights = zip(*behaviours.ALL)
        for call in range(1 << 60):
            if call % CALLS_A_CONNECTION == 0:
                client.connect()
            action = client.random.choices(actions, weights)[0]
            client.begin()
            begun = time.time()
            outcome, detail = self.do(action, client)
            with self.lock:
                self.counts[action.__name__, outcome] += 1
                if detail:
                    self.suspicions.append([action.__name__, outcome, detail, begun, time.time(), client.request_id])
            if outcome in ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "connection"):
                time.sleep(client.random.uniform(0.3, 1.0))

    def do(self, action, client):
        """The outcome, with details if somebody should look at it."""
        try:
            outcome = action(client)
            if outcome.startswith("WRONG"):
                return "WRONG", outcome
            return outcome, outcome if outcome == "UNAVAILABLE" else None
        except grpc.RpcError as error:
            code = error.code().name
            return code, None if code == "RESOURCE_EXHAUSTED" else str(error.details())
        except (OSError, ssl.SSLError, behaviours.http.client.HTTPException) as error:
            return "connection", repr(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--ports", type=lambda text: [int(port) for port in text.split(",")])
    parser.add_argument("--clients", type=int)
    parser.add_argument("--seed", type=int)
    Herd(parser.parse_args()).run()


if __name__ == "__main__":
    main()
