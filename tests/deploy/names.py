"""A name server for tests: one name, whose addresses change like those of a headless service."""

import socket
import struct
import threading


class NameServer:
    """Answers every A query with `addresses`, with a TTL of one second, over UDP on loopback."""

    def __init__(self, addresses=()):
        self.addresses = list(addresses)
        self.questions = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _serve(self):
        while True:
            try:
                question, asker = self._socket.recvfrom(4096)
            except OSError:
                return
            try:
                self._socket.sendto(self._answer(question), asker)
            except (OSError, struct.error, IndexError):
                continue  # an invalid query, or a client that is gone

    def _answer(self, question):
        end = 12
        while question[end]:
            end += 1 + question[end]
        end += 5  # the root, type and class
        (kind,) = struct.unpack("!H", question[end - 4:end - 2])
        self.questions += 1
        addresses = self.addresses if kind == 1 else []
        code = 0 if self.addresses else 3  # NXDOMAIN
        header = question[:2] + struct.pack("!HHHHH", 0x8580 | code, 1, len(addresses), 0, 0)
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 1, 4) + socket.inet_aton(address)
                           for address in addresses)
        return header + question[12:end] + records
