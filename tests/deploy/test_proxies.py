"""nginx, HAProxy and Envoy in front of three servers under load: one killed, one added, one terminated; failed calls.

Two clients: one that only has the proxy's address, and one with the settings that docs/deploying.md recommends.
"""

import time

import pytest

from programs import has_binaries

grpc = pytest.importorskip("grpc", reason="no grpcio")
from cluster import Cluster  # noqa: E402
from load import PLAIN, THROUGH_PROXY, Load, messages  # noqa: E402
from proxies import PROXIES, program, running  # noqa: E402

pytestmark = pytest.mark.skipif(not has_binaries, reason="nothing built")

TEXT = "The server decides how long a copy may be used. A copy that is too old is not given out."
CALLERS = 6


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    return messages(tmp_path_factory.mktemp("proto"))


def wait_until_it_answers(api, address):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with Load(api, address, TEXT, callers=1, options=PLAIN, timeout=5) as probe:
            time.sleep(0.5)
        if probe.outcomes["OK"]:
            return
    raise AssertionError(f"the proxy does not answer: {probe.failures[:1]}")


@pytest.mark.parametrize("client", ["plain", "documented"])
@pytest.mark.parametrize("name", PROXIES)
def test_servers_come_and_go(name, client, tmp_path, api):
    if program(name) is None:
        pytest.skip(f"no {name}")
    options = {"plain": PLAIN, "documented": THROUGH_PROXY}[client]
    with Cluster(tmp_path) as cluster, running(name, tmp_path, cluster.names.address) as address:
        wait_until_it_answers(api, address)
        with Load(api, address, TEXT, callers=CALLERS, options=options) as load:
            failed = {}

            def phase(what, seconds):
                before = load.failed
                time.sleep(seconds)
                failed[what] = load.failed - before

            phase("undisturbed", 2)
            before = load.failed
            cluster.kill(cluster.servers[0])
            phase("killed", 4)
            failed["killed"] = load.failed - before
            cluster.add()
            phase("added", 3)
            before = load.failed
            status = cluster.terminate(cluster.servers[0])
            phase("terminated", 3)
            failed["terminated"] = load.failed - before
        print(f"{name}, {client} client: {failed} of {load.calls} calls")
        assert not load.wrong
        assert status == 0
        assert load.calls > 100
        assert failed["undisturbed"] == failed["added"] == 0, load.failures[:5]
        if name == "envoy" or client == "documented":
            assert failed["terminated"] == 0, load.failures[:5]
        if client == "documented":
            assert failed["killed"] == 0, load.failures[:5]
        # The calls that were in flight there, and those until the proxy noticed.
        assert failed["killed"] <= 20 * CALLERS
