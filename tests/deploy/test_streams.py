"""Calls through the proxies that are long or wait, to a server of the test, which needs no model.

Envoy is also stopped as Kubernetes stops it: its service sends new connections elsewhere, preStop sleeps, SIGTERM
follows. test_settings.py reads the proxies' times, which are longer than a test.
"""

import concurrent.futures
import contextlib
import re
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

grpc = pytest.importorskip("grpc", reason="no grpcio")
from cluster import PORT  # noqa: E402
from names import NameServer  # noqa: E402
from programs import free_port, get, wait_for  # noqa: E402
from proxies import PROXIES, envoy, program, replaced, running  # noqa: E402

HOST = "127.77.1.1"  # an address that no other test uses
# Seconds, which stand for 60, 5 and 60 in Envoy's configuration and in --drain-seconds.
CONNECTION, DRAIN, DOCUMENT = 2, 1, 2


def answer_after(seconds, _):
    time.sleep(float(seconds))
    return seconds


def count_bytes(requests, _):
    return str(sum(len(request) for request in requests)).encode()


class Handlers(grpc.GenericRpcHandler):
    """Messages are bytes as they are. Health is always SERVING, which is field 1 with the value 1."""

    METHODS = {"/test/Wait": grpc.unary_unary_rpc_method_handler(answer_after),
               "/test/Count": grpc.stream_unary_rpc_method_handler(count_bytes),
               "/grpc.health.v1.Health/Check": grpc.unary_unary_rpc_method_handler(lambda *_: b"\x08\x01")}

    def service(self, details):
        return self.METHODS.get(details.method)


@pytest.fixture(scope="module")
def names():
    """A name server whose name leads to the server of the test."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(32), handlers=[Handlers()])
    server.add_insecure_port(f"{HOST}:{PORT}")
    server.start()
    with NameServer([HOST]) as found:
        yield found.address
    server.stop(None).wait()


class Service:
    """Gives every new connection to `port`, and leaves those that are there where they are, as kube-proxy does."""

    def __init__(self, port):
        self.port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.port))
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def quick_envoy(folder, names, *changes):
    """An Envoy whose connections live shorter, with some more changes. Returns its process and port."""
    folder.mkdir()
    port = free_port()
    command, ready = envoy(folder, names, port)
    config = folder / "envoy.yaml"
    config.write_text(replaced(config.read_text(),
                               ("max_connection_duration: 60s", f"max_connection_duration: {CONNECTION}s"),
                               ("drain_timeout: 5s", f"drain_timeout: {DRAIN}s"), *changes))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(lambda: get(f"http://127.0.0.1:{ready}/readyz") is not None, 20, f"Envoy: {folder}/log")
        yield process, port
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(program("envoy") is None, reason="no envoy")
def test_an_envoy_that_is_stopped_ends_no_call(tmp_path, names):
    stop = threading.Event()

    def caller(service, seconds):
        calls = 0
        with grpc.insecure_channel(service.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
            while not stop.is_set():
                channel.unary_unary("/test/Wait")(seconds, timeout=30)
                calls += 1
        return calls

    with (quick_envoy(tmp_path / "old", names) as (old, port), quick_envoy(tmp_path / "new", names) as (_, other),
          contextlib.closing(Service(port)) as service, concurrent.futures.ThreadPoolExecutor(8) as pool):
        callers = [pool.submit(caller, service, seconds) for seconds in (b"0.01", b"%d" % DOCUMENT) for _ in range(4)]
        time.sleep(1)
        service.port = other
        time.sleep(CONNECTION + DRAIN + DOCUMENT + 1)  # preStop
        old.send_signal(signal.SIGTERM)
        old.wait(10)
        time.sleep(1)
        stop.set()
        counts = [done.result() for done in callers]
    print(f"{counts} calls")
    assert min(counts) >= 2


@pytest.mark.skipif(program("envoy") is None, reason="no envoy")
def test_large_documents_do_not_take_envoys_memory(tmp_path, names):
    """128 calls of 4 MiB that never end would take 1 GiB. Each call beyond the bound ends; later ones are answered."""
    stop = threading.Event()

    def document():
        yield bytes(4 << 20)
        stop.wait()

    with quick_envoy(tmp_path / "envoy", names, ("max_heap_size_bytes: 671088640", f"max_heap_size_bytes: {160 << 20}"),
                     (f"max_connection_duration: {CONNECTION}s", "max_connection_duration: 60s")) as (process, port):
        options = [("grpc.use_local_subchannel_pool", 1)]
        with contextlib.ExitStack() as stack:
            channels = [stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}", options)) for _ in range(8)]
            calls = [channel.stream_unary("/test/Count").future(document()) for channel in channels for _ in range(16)]
            most = 0
            for _ in range(30):
                time.sleep(0.1)
                status = Path(f"/proc/{process.pid}/status").read_text()
                most = max(most, int(re.search(r"VmRSS:\s+(\d+)", status)[1]) >> 10)
            ended = [call.code() for call in calls if call.done()]
            stop.set()
            print(f"{len(ended)} of {len(calls)} calls ended, at most {most} MiB resident")
            assert ended and set(ended) <= {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL}
            assert most < 500
            later = channels[0].unary_unary("/test/Wait")
            wait_for(lambda: later.future(b"0", timeout=5).exception() is None, 10, "an answer once they have ended")


@pytest.mark.parametrize("name", PROXIES)
def test_a_stream_may_have_more_bytes_than_a_document(name, tmp_path, names):
    if program(name) is None:
        pytest.skip(f"no {name}")
    if name == "haproxy":
        pytest.skip("asks for /readyz, which this server does not have")
    with running(name, tmp_path, names) as address, grpc.insecure_channel(address) as channel:
        grpc.channel_ready_future(channel).result(20)
        count = channel.stream_unary("/test/Count")
        assert count((bytes(1 << 20) for _ in range(20)), timeout=60) == str(20 << 20).encode()
