"""Our own package as pip installs it, with the newest stubs, against a server."""

from __future__ import annotations

import importlib.resources

import pytest
import salient_client
from conftest import KEY
from salient_client import errors


def test_is_installed_and_typed():
    files = importlib.resources.files(salient_client)
    assert "site-packages" in str(files) and (files / "py.typed").is_file()
    assert (files / "proto" / "translation_pb2.pyi").is_file()


def test_translates(server):
    with salient_client.Client(server["grpc"], api_key=KEY, timeout=60) as client:
        reply = client.translate("The server is running.", depth={"policy": "FIXED", "fixed_exit": 2})
        assert "Server" in reply.text and reply.report.mean_exit == 2
        stream = client.stream("The server is running.", depth={"policy": "FIXED", "fixed_exit": 2})
        assert [segment.text for segment in stream] == [reply.text]
        with pytest.raises(errors.InvalidArgumentError, match="depth.fixed_exit"):
            client.translate("text", depth={"policy": "FIXED", "fixed_exit": 99})
    with salient_client.Client(server["grpc"]) as client, pytest.raises(errors.UnauthenticatedError):
        client.translate("text")
