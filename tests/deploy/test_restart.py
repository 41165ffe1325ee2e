"""A rolling restart under load, with the client settings that docs/deploying.md recommends: no call fails."""

import time

import pytest

from programs import has_binaries

grpc = pytest.importorskip("grpc", reason="no grpcio")
from cluster import Cluster  # noqa: E402  (needs nothing of grpc, but is of no use without)
from load import Load, messages  # noqa: E402

pytestmark = pytest.mark.skipif(not has_binaries, reason="nothing built")

TEXT = "The server decides how long a copy may be used. A copy that is too old is not given out."


@pytest.fixture(scope="session")
def api(tmp_path_factory):
    return messages(tmp_path_factory.mktemp("proto"))


def report(what, load):
    slowest = max(load.seconds)
    print(f"{what}: {load.failed} of {load.calls} calls failed {dict(load.outcomes)}; slowest {slowest:.1f} s")
    assert not load.wrong, "a translation that differs"
    return f"{load.failures[:5]}"


def test_a_rolling_restart_loses_no_call(tmp_path, api):
    with Cluster(tmp_path) as cluster:
        with Load(api, cluster.target, TEXT, callers=6) as load:
            time.sleep(3)
            statuses = cluster.restart_all()
            end = time.monotonic() + 180
            while load.calls < 1000 and time.monotonic() < end:
                time.sleep(0.2)
        said = report("rolling restart of three", load)
        assert statuses == [0, 0, 0]
        assert load.failed == 0, said
        assert load.calls >= 1000


def test_a_killed_server_costs_no_call(tmp_path, api):
    with Cluster(tmp_path) as cluster:
        with Load(api, cluster.target, TEXT, callers=6) as load:
            time.sleep(3)
            cluster.kill(cluster.servers[0])
            time.sleep(3)
            cluster.add()
            time.sleep(3)
        said = report("one of three killed", load)
        assert load.failed == 0, said


def test_a_server_that_is_added_gets_calls(tmp_path, api):
    with Cluster(tmp_path, replicas=1) as cluster:
        with Load(api, cluster.target, TEXT, callers=6) as load:
            time.sleep(2)
            added = cluster.add()
            # Connections are renewed after 10 seconds, plus or minus ten per cent.
            time.sleep(14)
        said = report("one added to one", load)
        assert load.failed == 0, said
        from programs import get

        counts = [line for line in get(f"http://{added.admin}/metrics").splitlines()
                  if line.startswith("salient_requests_total") and 'outcome="ok"' in line]
        served = sum(float(line.split()[-1]) for line in counts)
        print(f"the added server got {served:.0f} of {load.calls} calls")
        assert served > 0
