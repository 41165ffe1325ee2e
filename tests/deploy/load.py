"""Calls that continue while servers come and go, and the outcome of each."""

import collections
import importlib
import subprocess
import sys
import threading
import time

import grpc

from manifests import DEPLOY, ROOT

# The settings that docs/deploying.md recommends to Python clients.
def documented(config):
    return [
        ("grpc.service_config", (DEPLOY / "clients" / config).read_text()),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.dns_min_time_between_resolutions_ms", 500),
        ("grpc.max_receive_message_length", -1),
        ("grpc.per_rpc_retry_buffer_size", 8 << 20),
        ("grpc.initial_reconnect_backoff_ms", 200),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]


DIRECT = documented("service-config.json")
# Settings for a proxy, which checks health itself: a client that did so would check only one replica.
THROUGH_PROXY = documented("service-config-proxy.json")
# A client without settings; the proxy must compensate for that.
PLAIN = []


def messages(folder):
    """The API's messages, compiled from proto/ into the folder."""
    source = "salient/v1/translation.proto"
    if not (folder / "salient" / "v1" / "translation_pb2.py").exists():
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}",
                        ROOT / "proto" / source], check=True)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module("salient.v1.translation_pb2")


class Load:
    """`callers` channels, each sending one document after another to the target until it is stopped."""

    def __init__(self, api, target, text, callers=8, options=DIRECT, timeout=30, pause=0.0):
        self.outcomes = collections.Counter()
        self.failures = []
        self.wrong = []
        self.seconds = []
        self._request = api.TranslateDocumentRequest(document={"text": text})
        self._reply = api.TranslateDocumentResponse
        self._text = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._arguments = (target, options, timeout, pause)
        self._threads = [threading.Thread(target=self._call) for _ in range(callers)]

    @property
    def calls(self):
        return sum(self.outcomes.values())

    @property
    def failed(self):
        return self.calls - self.outcomes["OK"]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self):
        target, options, timeout, pause = self._arguments
        # An own channel: gRPC would let channels to the same target share one connection.
        with grpc.insecure_channel(target, [*options, ("grpc.use_local_subchannel_pool", 1)]) as channel:
            translate = channel.unary_unary("/salient.v1.Translation/TranslateDocument",
                                            request_serializer=lambda message: message.SerializeToString(),
                                            response_deserializer=self._reply.FromString)
            while not self._stop.is_set():
                begun = time.monotonic()
                try:
                    text = translate(self._request, timeout=timeout).text
                    outcome = "OK"
                except grpc.RpcError as error:
                    text, outcome = None, error.code().name
                    with self._lock:
                        self.failures.append(f"{outcome}: {error.details()}")
                with self._lock:
                    self.outcomes[outcome] += 1
                    self.seconds.append(time.monotonic() - begun)
                    if text is not None:
                        self._text = self._text or text
                        if text != self._text:
                            self.wrong.append(text)
                if pause:
                    time.sleep(pause)
