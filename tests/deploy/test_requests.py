"""The requests of README.md and docs/deploying.md that learn the API from the server, by reflection."""

import json
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from manifests import ROOT
from programs import Server, has_binaries

sys.path.append(str(ROOT / "tests" / "docs"))
from pages import Page  # noqa: E402

grpc = pytest.importorskip("grpc", reason="no grpcio")
reflection = pytest.importorskip("grpc_reflection.v1alpha.proto_reflection_descriptor_database",
                                 reason="no grpcio-reflection")
from google.protobuf import descriptor_pool, json_format, message_factory  # noqa: E402

pytestmark = pytest.mark.skipif(not has_binaries, reason="nothing built")

PAGES = [Page(path, path.read_text()) for path in (ROOT / "README.md", ROOT / "docs" / "deploying.md")]
COMMANDS = [command for page in PAGES for command in page.commands() if command.startswith("grpcurl ")]
assert len(COMMANDS) >= 2


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


def answered(reply):
    """Whether a reply is a translation, or that of a server that serves."""
    return reply.get("text") or reply.get("status") == "SERVING"


@pytest.mark.parametrize("command", COMMANDS)
def test_grpcurls_request_by_reflection(command, server):
    """What grpcurl does: it asks for the method's messages, and makes the request of the JSON."""
    *options, _, name = shlex.split(command)
    body = options[options.index("-d") + 1] if "-d" in options else "{}"
    service, method = name.split("/")
    with grpc.insecure_channel(server.grpc) as channel:
        pool = descriptor_pool.DescriptorPool(reflection.ProtoReflectionDescriptorDatabase(channel))
        described = pool.FindServiceByName(service).methods_by_name[method]
        request, reply = map(message_factory.GetMessageClass, (described.input_type, described.output_type))
        call = channel.unary_unary(f"/{name}", request.SerializeToString, reply.FromString)
        answer = call(json_format.Parse(body, request(), descriptor_pool=pool), timeout=60)
    assert answered(json_format.MessageToDict(answer, descriptor_pool=pool))


@pytest.mark.skipif(shutil.which("grpcurl") is None, reason="no grpcurl")
@pytest.mark.parametrize("command", COMMANDS)
def test_grpcurl(command, server):
    line = command.replace("localhost:50051", server.grpc)
    assert line != command
    done = subprocess.run(shlex.split(line), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert answered(json.loads(done.stdout)), done.stdout


def test_the_program_in_python(server):
    text = PAGES[1].text
    program = re.search(r"^    import grpc\n.*?^    print\(.*?$", text, re.MULTILINE | re.DOTALL)[0]
    program = re.sub("^    ", "", program, flags=re.MULTILINE).replace('"localhost:50051"', f'"{server.grpc}"')
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
