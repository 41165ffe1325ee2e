"""Certificates and API keys of a soak, which are replaced while it runs."""

import os
import secrets
import subprocess

import grpc


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Credentials:
    """A certificate authority, and files in `folder` that it signed. Files are replaced atomically, by renaming."""

    def __init__(self, folder):
        self.folder = folder
        self.keys = []
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", 2, "-subj",
                "/CN=soak authority", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        self.issue("server")
        self.issue("client")
        self.replace_keys()

    def issue(self, name):
        new = self.folder / f"{name}.new"
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{new}.key", "-out", f"{new}.csr")
        openssl("x509", "-req", "-in", f"{new}.csr", "-CA", self.folder / "ca.pem", "-CAkey", self.folder / "ca.key",
                "-CAcreateserial", "-days", 2, "-extfile", self.folder / "names", "-out", f"{new}.crt")
        for kind in ("key", "crt"):
            os.replace(f"{new}.{kind}", self.folder / f"{name}.{kind}")

    def replace_keys(self):
        """Adds a key, and removes the oldest of three. Clients use the last but one, which is valid before and
        after."""
        self.keys = [*self.keys[-2:], secrets.token_hex(24)]
        lines = "".join(f"{key} name=soak\n" for key in self.keys)
        for name, text in (("keys.txt", lines), ("current-key", self.keys[-2:][0])):
            (self.folder / "unfinished").write_text(text)
            os.replace(self.folder / "unfinished", self.folder / name)

    def server_flags(self):
        return ["--tls-cert", self.folder / "server.crt", "--tls-key", self.folder / "server.key", "--tls-client-ca",
                self.folder / "ca.pem", "--api-keys", self.folder / "keys.txt"]


def current_key(folder):
    return (folder / "current-key").read_text()


def channel_credentials(folder):
    files = ("ca.pem", "client.key", "client.crt")
    return grpc.ssl_channel_credentials(*[(folder / name).read_bytes() for name in files])
