"""The Python client with a fake server."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import sys
import threading
import time
from concurrent import futures

import grpc
import pytest
from conftest import PACKAGE, ROOT

from salient_client import AsyncClient, Client, errors, options
from salient_client.files import MIME_TYPES, write_document
from salient_client.proto import translation_pb2 as pb
from salient_client.proto import translation_pb2_grpc as pb_grpc


class Fake(pb_grpc.TranslationServicer):
    """Translates to upper case, and remembers its requests."""

    def __init__(self):
        self.requests, self.metadata, self.refusals, self.delay = [], [], [], 0.0

    def reply(self, request):
        document = request.document
        if document.content:
            return pb.TranslateDocumentResponse(content=document.content.upper(), mime_type=document.mime_type)
        return pb.TranslateDocumentResponse(text=document.text.upper())

    def TranslateDocument(self, request, context):
        self.requests.append(request)
        self.metadata.append(dict(context.invocation_metadata()))
        time.sleep(self.delay)
        if self.refusals:
            code, pushback = self.refusals.pop(0)
            if pushback is not None:
                context.set_trailing_metadata((("grpc-retry-pushback-ms", str(pushback)),))
            context.abort(code, "refused")
        return self.reply(request)

    def StreamTranslateDocument(self, request, context):
        for i, line in enumerate(request.document.text.splitlines()):
            yield pb.StreamTranslateDocumentResponse(progress=pb.Progress(segments_done=i))
            yield pb.StreamTranslateDocumentResponse(segment=pb.TranslatedSegment(index=i, text=line.upper()))
        while "wait" in request.document.text and context.is_active():
            time.sleep(0.01)
        if "fail" in request.document.text:
            context.abort(grpc.StatusCode.INTERNAL, "broken")
        yield pb.StreamTranslateDocumentResponse(result=pb.TranslateDocumentResponse(model="fake"))

    def TranslateDocuments(self, requests, context):
        for one in requests:
            if one.request.document.text == "bad":
                yield pb.TranslateDocumentsResponse(id=one.id, error=pb.Error(code=3, message="bad text"))
            elif one.request.document.text == "full":
                error = pb.Error(code=8, message="full", retry_after_seconds=0.5)
                yield pb.TranslateDocumentsResponse(id=one.id, error=error)
            else:
                yield pb.TranslateDocumentsResponse(id=one.id, response=self.reply(one.request))

    def ListModels(self, request, context):
        return pb.ListModelsResponse(models=[pb.Model(name="fake")])


@pytest.fixture
def fake():
    servicer = Fake()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    pb_grpc.add_TranslationServicer_to_server(servicer, server)
    servicer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield servicer
    server.stop(None)


def test_options_have_the_names_of_the_api(fake):
    with Client(fake.address) as client:
        reply = client.translate("text", source_language="en", selection={"policy": "RATIO", "value": 0.1},
                                 depth={"policy": "GEOMETRIC", "thresholds": [0.5, 0.25]}, search={"beam": 4},
                                 priority="BULK", segmentation="LINES", trace=True, target_language=None)
    assert reply.text == "TEXT"
    request = fake.requests[0]
    assert request.selection.policy == pb.SelectionControls.RATIO and request.selection.value == 0.1
    assert list(request.depth.thresholds) == [0.5, 0.25] and request.search.beam == 4 and request.trace
    assert request.priority == pb.PRIORITY_BULK and request.document.segmentation == pb.SEGMENTATION_LINES
    assert request.document.text == "text" and request.source_language == "en"


def test_options_are_all_of_the_api():
    request = {name for name in pb.TranslateDocumentRequest.DESCRIPTOR.fields_by_name if name != "document"}
    document = {name for name in pb.Document.DESCRIPTOR.fields_by_name if name not in ("text", "content", "mime_type")}
    assert set(options.Options.__annotations__) == request | document
    for kind, message in ((options.Selection, pb.SelectionControls), (options.Depth, pb.DepthControls),
                          (options.Search, pb.SearchControls), (options.Glossary, pb.Glossary),
                          (options.Term, pb.Term), (options.Memory, pb.Memory), (options.MemoryEntry, pb.MemoryEntry),
                          (options.MemoryFile, pb.MemoryFile), (options.Elements, pb.ElementRules)):
        assert set(kind.__annotations__) == set(message.DESCRIPTOR.fields_by_name), message.DESCRIPTOR.name


def test_terms_and_memory_are_dictionaries(fake):
    with Client(fake.address) as client:
        client.translate("text", glossary={"terms": [{"source": "server", "target": "Server"}]},
                         memory={"repeats": True, "entries": [{"source": "a", "translation": "b"}]})
    request = fake.requests[0]
    assert request.glossary.terms[0].target == "Server"
    assert request.memory.repeats and request.memory.entries[0].translation == "b"


def test_the_guard_is_asked_for_by_name(fake):
    with Client(fake.address) as client:
        client.translate("text", guard="REPORT", search={"beam": 4, "no_repeat": 5})
        client.translate("text", guard="GUARD_OFF")
    assert [request.guard for request in fake.requests] == [pb.GUARD_REPORT, pb.GUARD_OFF]
    assert fake.requests[0].search.no_repeat == 5


@pytest.mark.parametrize("options, named", [({"colour": 1}, "colour"), ({"search": {"bem": 2}}, "bem"),
                                            ({"depth": {"policy": "DEEP"}}, "DEEP"), ({"priority": "SOON"}, "SOON"),
                                            ({"guard": "PERHAPS"}, "PERHAPS")])
def test_what_the_api_does_not_have_is_named(fake, options, named):
    with Client(fake.address) as client, pytest.raises(ValueError, match=named):
        client.translate("text", **options)
    assert not fake.requests


def test_the_key_goes_with_every_call(fake):
    with Client(fake.address, api_key="0123456789abcdef") as client:
        client.translate("text")
    assert fake.metadata[0]["authorization"] == "Bearer 0123456789abcdef"


@pytest.mark.parametrize("key", ["0123456789abcdef\n", "0123 4567", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused(key):
    with pytest.raises(ValueError, match="^api_key: .* line break") as refusal:
        Client("localhost:1", api_key=key)
    assert key not in str(refusal.value)


def test_a_refused_call_is_sent_again_after_the_time_that_the_server_names(fake):
    fake.refusals = [(grpc.StatusCode.RESOURCE_EXHAUSTED, 400), (grpc.StatusCode.UNAVAILABLE, None)]
    start = time.monotonic()
    with Client(fake.address) as client:
        assert client.translate("text").text == "TEXT"
    assert len(fake.requests) == 3 and time.monotonic() - start > 0.35


def test_what_is_refused_for_good_says_when_to_come_again(fake):
    fake.refusals = [(grpc.StatusCode.RESOURCE_EXHAUSTED, 250)]
    with Client(fake.address, attempts=1) as client, pytest.raises(errors.ResourceExhaustedError) as caught:
        client.translate("text")
    assert caught.value.retry_after == 0.25 and caught.value.message == "refused" and len(fake.requests) == 1


@pytest.mark.parametrize("code, kind", [(grpc.StatusCode.INVALID_ARGUMENT, errors.InvalidArgumentError),
                                        (grpc.StatusCode.UNAUTHENTICATED, errors.UnauthenticatedError),
                                        (grpc.StatusCode.NOT_FOUND, errors.NotFoundError),
                                        (grpc.StatusCode.DATA_LOSS, errors.SalientError)])
def test_errors_are_exceptions_of_their_code(fake, code, kind):
    fake.refusals = [(code, None)]
    with Client(fake.address) as client, pytest.raises(kind) as caught:
        client.translate("text")
    assert type(caught.value) is kind and caught.value.code == code and str(caught.value) == "refused"


def test_a_timeout_ends_the_call_with_its_retries(fake):
    fake.refusals = [(grpc.StatusCode.RESOURCE_EXHAUSTED, 60000)]
    with Client(fake.address, timeout=0.5) as client, pytest.raises(errors.SalientError):
        client.translate("text")
    fake.delay = 1
    with Client(fake.address) as client, pytest.raises(errors.DeadlineExceededError):
        client.translate("text", timeout=0.3)


def test_segments_come_one_by_one(fake):
    seen = []
    with Client(fake.address) as client:
        stream = client.stream("one\ntwo", on_progress=lambda progress: seen.append(progress.segments_done))
        assert next(stream).text == "ONE" and stream.result is None
        assert [segment.text for segment in stream] == ["TWO"]
        assert stream.result.model == "fake" and seen == [0, 1]
        with pytest.raises(errors.SalientError, match="broken"):
            list(client.stream("fail"))


def test_many_texts_over_one_call(fake):
    with Client(fake.address) as client:
        replies = dict(client.translate_many(["a", "bad", "c", "full"]))
        assert [model.name for model in client.models()] == ["fake"]
    assert replies[0].text == "A" and replies[2].text == "C"
    assert isinstance(replies[1], errors.InvalidArgumentError) and str(replies[1]) == "bad text"
    assert replies[1].retry_after is None
    assert isinstance(replies[3], errors.ResourceExhaustedError) and replies[3].retry_after == 0.5


def test_what_reading_the_texts_raises_comes_after_the_replies(fake):
    def texts():
        yield "a"
        raise RuntimeError("no more")

    async def read(client, replies):
        async for reply in client.translate_many(texts()):
            replies.append(reply)

    async def use(replies):
        async with AsyncClient(fake.address) as client:
            await read(client, replies)

    for run in ("threads", "asyncio"):
        replies = []
        with pytest.raises(RuntimeError, match="no more"):
            if run == "asyncio":
                asyncio.run(use(replies))
            with Client(fake.address) as client:
                for reply in client.translate_many(texts()):
                    replies.append(reply)
        assert [reply.text for _, reply in replies] == ["A"], run


def test_a_document_is_no_option(fake):
    with Client(fake.address) as client, pytest.raises(ValueError, match="segmentation, keep_terms"):
        client.translate("a", document={"keep_terms": ["A"]})


def test_files_by_their_names(fake, tmp_path):
    page = tmp_path / "page.HTML"
    page.write_bytes("<p>grün</p>".encode())
    with Client(fake.address) as client:
        client.translate_file(page, tmp_path / "out.html", keep_terms=["Salient"], markup="PLACE",
                              elements={"keep": ["code"]})
        client.translate_file(page, mime_type="text/markdown")
        with pytest.raises(ValueError, match="docx"):
            client.translate_file(tmp_path / "README")
    assert (tmp_path / "out.html").read_bytes() == "<p>grün</p>".encode().upper()
    assert [request.document.mime_type for request in fake.requests] == ["text/html", "text/markdown"]
    sent = fake.requests[0].document
    assert list(sent.keep_terms) == ["Salient"] and sent.markup == pb.MARKUP_PLACE and sent.elements.keep == ["code"]


def test_a_file_is_replaced_only_by_a_whole_one(tmp_path, monkeypatch):
    out, link = tmp_path / "out.txt", tmp_path / "link.txt"
    out.write_bytes(b"old")
    out.chmod(0o640)
    link.symlink_to(out.name)
    reply = pb.TranslateDocumentResponse(content=b"new")

    def full(*_):
        raise OSError("no space left")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no space"):
        patched.setattr("os.replace", full)
        write_document(reply, link)
    assert out.read_bytes() == b"old"
    write_document(reply, link)
    assert link.is_symlink() and out.read_bytes() == b"new" and out.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.txt", "out.txt"]
    write_document(reply, "/dev/null")


def test_a_private_file_is_private_while_it_is_replaced(tmp_path, monkeypatch):
    out, modes = tmp_path / "out.html", []
    out.touch(0o600)
    replace, chmod = os.replace, os.chmod
    monkeypatch.setattr(os, "chmod", lambda path, *a, **b: (modes.append(os.stat(path).st_mode & 0o777),
                                                           chmod(path, *a, **b)))
    monkeypatch.setattr(os, "replace", lambda old, new: (modes.append(os.stat(old).st_mode & 0o777),
                                                         replace(old, new)))
    write_document(pb.TranslateDocumentResponse(content=b"new"), out)
    assert modes and set(modes) == {0o600}


def test_the_types_of_files_are_those_of_the_server():
    """Each file has the type that documents/formats/registry.cc gives it."""
    registry = (ROOT / "documents/formats/registry.cc").read_text()
    po = re.search(r'kPoMimeType = "([^"]+)"', (ROOT / "documents/formats/memory_file.h").read_text())[1]
    types = re.findall(r'\{("[a-z]+/[^"]+"|kPoMimeType), \{([^{}]*)\}\}', registry)
    assert {ending: po if mime_type == "kPoMimeType" else mime_type.strip('"')
            for mime_type, endings in types for ending in re.findall(r'"([a-z]+)"', endings)} == MIME_TYPES


def test_the_same_with_asyncio(fake, tmp_path):
    async def use():
        page = tmp_path / "page.md"
        page.write_text("text")
        async with AsyncClient(fake.address, api_key="0123456789abcdef") as client:
            both = await asyncio.gather(client.translate("one", priority="BULK"), client.translate("two"))
            assert [reply.text for reply in both] == ["ONE", "TWO"]
            stream = client.stream("one\ntwo")
            assert [segment.text async for segment in stream] == ["ONE", "TWO"] and stream.result.model == "fake"
            assert (await client.translate_file(page, tmp_path / "out.md")).content == b"TEXT"
            replies = {index: reply async for index, reply in client.translate_many(["a", "bad"])}
            assert replies[0].text == "A" and str(replies[1]) == "bad text"
            assert [model.name for model in await client.models()] == ["fake"]
            fake.refusals = [(grpc.StatusCode.RESOURCE_EXHAUSTED, 100)]
            assert (await client.translate("again")).text == "AGAIN"
            fake.refusals = [(grpc.StatusCode.INVALID_ARGUMENT, None)]
            with pytest.raises(errors.InvalidArgumentError, match="refused"):
                await client.translate("text")

    asyncio.run(use())
    assert {metadata["authorization"] for metadata in fake.metadata} == {"Bearer 0123456789abcdef"}


@pytest.mark.parametrize("early", [True, False])
def test_a_stream_that_is_cancelled_says_so(fake, early):
    """Before it is read on, or while it is read; with both clients."""
    with Client(fake.address) as client:
        stream = client.stream("one\nwait")
        assert [next(stream).text, next(stream).text] == ["ONE", "WAIT"]
        stop = threading.Timer(0 if early else 0.1, stream.cancel)
        stop.start()
        if early:
            stop.join()
        with pytest.raises(errors.CancelledError):
            next(stream)

    async def use():
        async with AsyncClient(fake.address) as client:
            stream = client.stream("one\nwait")
            assert [(await stream.__anext__()).text for _ in range(2)] == ["ONE", "WAIT"]
            if early:
                stream.cancel()
            else:
                asyncio.get_running_loop().call_later(0.1, stream.cancel)
            for _ in range(2):
                with pytest.raises(errors.CancelledError) as caught:
                    await stream.__anext__()
                assert caught.value.code == grpc.StatusCode.CANCELLED

    asyncio.run(asyncio.wait_for(use(), 30))


@pytest.mark.parametrize("also_the_stream", [False, True])
def test_a_cancelled_task_ends_with_the_error_of_asyncio(fake, also_the_stream):
    if also_the_stream and sys.version_info < (3, 11):
        pytest.skip("a task does not say that it is cancelled")

    async def use():
        async with AsyncClient(fake.address) as client:
            stream, read = client.stream("one\nwait"), []

            async def reads():
                async for segment in stream:
                    read.append(segment.text)

            task = asyncio.create_task(reads())
            while len(read) < 2:
                await asyncio.sleep(0.01)
            if also_the_stream:
                stream.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert task.cancelled()

    asyncio.run(asyncio.wait_for(use(), 30))


def test_both_clients_have_the_same_methods():
    def signatures(kind):
        return {name: list(inspect.signature(method).parameters)
                for name, method in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}

    assert signatures(Client) == signatures(AsyncClient)
    assert list(inspect.signature(Client).parameters) == list(inspect.signature(AsyncClient).parameters)


def test_a_certificate_needs_its_key():
    with pytest.raises(ValueError, match="need each other"):
        Client("localhost:1", certificate="a.pem")
    assert (PACKAGE / "salient_client" / "py.typed").exists()
