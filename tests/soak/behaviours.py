"""The behaviour of clients, good and bad. Each function is one action of a client. It returns the outcome: "ok", the
name of a status code, or what went wrong after "WRONG". Unexpected errors are raised."""

import gzip
import http.client
import json
import random
import socket
import ssl
import time

import grpc
from google.protobuf import json_format

import mix
from credentials import channel_credentials, current_key

SERVICE = "/salient.v1.Translation/"
PATIENCE = 600  # seconds; a call without an answer for that long counts as lost


class Client:
    """One connection of each kind. They are opened anew from time to time."""

    def __init__(self, api, folder, ports, expected, long, seed):
        self.api, self.folder, self.ports, self.expected, self.long = api, folder, ports, expected, long
        self.random = random.Random(seed)
        self.channel = self.calls = None
        self.begin()

    def begin(self):
        """A new action. Its calls have a name of their own, which the server's log has, too."""
        self.request_id = f"{self.random.getrandbits(128):032x}"

    def connect(self):
        if self.channel is not None:
            self.channel.close()
        self.channel = grpc.secure_channel(f"127.0.0.1:{self.ports[0]}", channel_credentials(self.folder), [
            ("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000)])
        api = self.api
        serialize = lambda message: message if isinstance(message, bytes) else message.SerializeToString()  # noqa: E731
        self.unary = self.channel.unary_unary(SERVICE + "TranslateDocument", serialize,
                                              api.TranslateDocumentResponse.FromString)
        self.stream = self.channel.unary_stream(SERVICE + "StreamTranslateDocument", serialize,
                                                api.StreamTranslateDocumentResponse.FromString)
        self.many = self.channel.stream_stream(SERVICE + "TranslateDocuments", serialize,
                                               api.TranslateDocumentsResponse.FromString)

    def pick(self):
        i = self.random.randrange(len(self.expected))
        return self.expected[i]

    def call(self, timeout=PATIENCE, key=None):
        """The settings of every call. A call waits for a server that is just starting."""
        key = key or current_key(self.folder)
        metadata = [("x-api-key", key), ("x-request-id", self.request_id)]
        return {"timeout": timeout, "wait_for_ready": True, "metadata": metadata}

    def judge(self, reply, expected):
        return "ok" if mix.fingerprint(reply) == expected else f"WRONG translation: {reply.text[:80]!r}"

    def post(self, body, headers=None, timeout=PATIENCE, path="/v1/translate"):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
        connection = http.client.HTTPSConnection("127.0.0.1", self.ports[1], timeout=timeout, context=context)
        try:
            connection.request("POST", path, body, {
                "X-API-Key": current_key(self.folder), "X-Request-Id": self.request_id, **(headers or {})})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def raw(self):
        context = ssl.create_default_context(cafile=self.folder / "ca.pem")
        context.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.ports[1]), timeout=30),
                                   server_hostname="127.0.0.1")


def unary(client):
    request, expected = client.pick()
    return client.judge(client.unary(request, **client.call()), expected)


def streamed(client):
    request, expected = client.pick()
    segments, result = [], None
    for event in client.stream(request, **client.call()):
        if event.HasField("segment"):
            segments.append(event.segment)
        elif event.HasField("result"):
            result = event.result
    result.segments.extend(segments)
    return client.judge(result, expected)


def many(client):
    chosen = [client.pick() for _ in range(client.random.randint(2, 10))]
    requests = (client.api.TranslateDocumentsRequest(id=str(i), request=request)
                for i, (request, _) in enumerate(chosen))
    answered = set()
    for reply in client.many(requests, **client.call()):
        answered.add(reply.id)
        if reply.error.code == grpc.StatusCode.UNAVAILABLE.value[0]:
            return "UNAVAILABLE"
        if reply.HasField("error"):
            return f"WRONG error in a stream: {reply.error.code} {reply.error.message}"
        if (outcome := client.judge(reply.response, chosen[int(reply.id)][1])) != "ok":
            return outcome
    return "ok" if len(answered) == len(chosen) else f"WRONG: {len(answered)} replies to {len(chosen)} documents"


def over_http(client):
    request, expected = client.pick()
    body = json_format.MessageToJson(request, preserving_proto_field_name=True).encode()
    headers = {}
    if client.random.random() < 0.3:
        body, headers = gzip.compress(body), {"Content-Encoding": "gzip"}
    status, reply = client.post(body, headers)
    if status != 200:
        return {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(status, f"WRONG status {status}: {reply[:200]}")
    return client.judge(json_format.Parse(reply, client.api.TranslateDocumentResponse()), expected)


def cancelled(client):
    request, expected = client.pick()
    call = client.unary.future(request, **client.call())
    time.sleep(client.random.choice((0, 0.01, 0.1, 0.5)))
    if not call.cancel() and call.code() == grpc.StatusCode.OK:
        return client.judge(call.result(), expected)
    return "cancelled by us"


def send_translate(client, connection, body):
    """Writes an HTTP request, and leaves its reply to be read."""
    connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: x\r\n"
                       b"X-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s" % (
                           current_key(client.folder).encode(), len(body), body))


def left_http(client):
    request, _ = client.pick()
    body = json_format.MessageToJson(request).encode()
    with client.raw() as connection:
        send_translate(client, connection, body)
        time.sleep(client.random.choice((0, 0.1, 1)))
    return "left"


def in_a_hurry(client):
    request, expected = client.pick()
    try:
        reply = client.unary(request, **client.call(client.random.choice((0.01, 0.05, 0.3))))
        return client.judge(reply, expected)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
            return "late"
        raise


def slow_reader(client):
    """Reads a part of a large reply, then nothing for a time shorter or longer than the server's limit."""
    wait = client.random.choice((5, 20, 75))
    call = client.stream(client.long, **client.call())
    next(call)
    time.sleep(wait)
    try:
        for _ in call:
            pass
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.CANCELLED or wait < 60:
            raise
    return "slow"


def slow_http_reader(client):
    body = json_format.MessageToJson(client.long).encode()
    with client.raw() as connection:
        send_translate(client, connection, body)
        time.sleep(client.random.choice((5, 20)))
    return "slow"


def trickle(client):
    with client.raw() as connection:
        try:
            for byte in b"POST /v1/translate HTTP/1.1\r\nHost:":
                connection.sendall(bytes([byte]))
                time.sleep(0.3)
        except OSError:
            return "cut off"
    return "trickled"


def wrong_grpc(client):
    """Invalid requests, each with its status code."""
    api, text = client.api, "Good morning."
    invalid, missing = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
    request, code = client.random.choice((
        (api.TranslateDocumentRequest(), invalid),
        (b"\xff\xff\xff garbage", invalid),
        (b"\x0a\x04\x0a\x02\xc3\x28", invalid),  # text that is not UTF-8
        (mix.request(api, {"text": "a\0b"}, {}), invalid),
        (mix.request(api, {"text": "word " * 1000000}, {}), invalid),
        (mix.request(api, {"text": text}, {"model": "none"}), missing),
        (mix.request(api, {"text": text}, {"target_language": "xx"}), missing),
        (mix.request(api, {"text": text}, {"search": {"beam": 1000}}), invalid),
        (mix.request(api, {"text": text}, {"selection": {"policy": "RATIO", "value": 7}}), invalid),
        (mix.request(api, {"mime_type": "application/zip", "content": b"PK\3\4"}, {}), None),
    ))
    try:
        client.unary(request, **client.call())
    except grpc.RpcError as error:
        if error.code() == code or (code is None and error.code() in (invalid, grpc.StatusCode.UNIMPLEMENTED)):
            return "refused"
        if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED):
            raise
        return f"WRONG code {error.code().name} for {str(request)[:60]!r}: {error.details()[:200]}"
    return f"WRONG: taken: {str(request)[:60]!r}"


def wrong_http(client):
    body, headers, path, expected = client.random.choice((
        (b"{not JSON", {}, "/v1/translate", 400),
        (b"[1, 2, 3]", {}, "/v1/translate", 400),
        (json.dumps({"document": {"text": ""}}), {}, "/v1/translate", 400),
        (b"\xff" * 1000, {"Content-Encoding": "gzip"}, "/v1/translate", 400),
        (gzip.compress(b"a" * (64 << 20)), {"Content-Encoding": "gzip"}, "/v1/translate", 413),
        (b"{}", {"Content-Encoding": "zstd"}, "/v1/translate", 415),
        (b"{}", {"X-API-Key": "0123456789abcdef0123"}, "/v1/translate", 401),
        (b"{}", {}, "/nowhere", 404),
    ))
    status, reply = client.post(body, headers, path=path)
    if status in (expected, 503):
        return "refused" if status == expected else "UNAVAILABLE"
    return f"WRONG status {status}, not {expected}: {reply[:200]}"


def no_key(client):
    try:
        client.unary(client.pick()[0], **client.call(key="0123456789abcdef0123"))
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return "refused"
        raise
    return "WRONG: taken without a key"


# Each action and its weight.
ALL = ((unary, 30), (over_http, 20), (streamed, 15), (many, 8), (cancelled, 7), (left_http, 3), (in_a_hurry, 5),
       (wrong_grpc, 5), (wrong_http, 4), (no_key, 2), (slow_reader, 0.4), (slow_http_reader, 0.3), (trickle, 0.3))
