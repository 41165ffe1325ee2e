"""Sets up a channel to the server, for both clients."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Tuple

import grpc

from .files import StrPath

# A call is kept for a retry if it fits in here, so this must be more than the largest document.
_RETRY_BYTES = 64 << 20


@dataclass(frozen=True)
class Connection:
    """The address of a server, and how to connect to it.

    tls: encrypt, and trust the certificate authorities of this machine. Any of the following files implies it.
    ca: PEM file with the certificate of the authority that signed the server's.
    certificate, key: PEM files with the client's certificate and private key, if the server requires one.
    api_key: sent with every call. Without TLS it is sent unencrypted.
    attempts: the greatest number of attempts per call, with the first. A call that the server refuses because it is
        full is repeated after the time that the server asks for; a call that fails because the server ends is repeated
        after a growing pause. No attempt begins after the call's timeout.
    """

    address: str
    api_key: Optional[str] = None
    tls: bool = False
    ca: Optional[StrPath] = None
    certificate: Optional[StrPath] = None
    key: Optional[StrPath] = None
    attempts: int = 5

    def __post_init__(self) -> None:
        # gRPC prints a key that it cannot send.
        if self.api_key and not all("!" <= character <= "~" for character in self.api_key):
            raise ValueError("api_key: has a character that is not printable ASCII, such as a line break at its end")

    def metadata(self) -> Tuple[Tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.api_key}"),) if self.api_key else ()

    def credentials(self) -> Optional[grpc.ChannelCredentials]:
        """The credentials for TLS; None without TLS."""
        if not (self.tls or self.ca or self.certificate or self.key):
            return None
        if bool(self.certificate) != bool(self.key):
            raise ValueError("certificate and key need each other")
        files = [Path(path).read_bytes() if path else None for path in (self.ca, self.key, self.certificate)]
        return grpc.ssl_channel_credentials(*files)

    def options(self) -> List[Tuple[str, Any]]:
        config: dict = {"loadBalancingConfig": [{"round_robin": {}}],
                        "healthCheckConfig": {"serviceName": "salient.v1.Translation"}}
        if self.attempts > 1:
            config["methodConfig"] = [{
                "name": [{"service": "salient.v1.Translation"}],
                "retryPolicy": {"maxAttempts": min(self.attempts, 5), "initialBackoff": "0.2s", "maxBackoff": "3s",
                                "backoffMultiplier": 2,
                                "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]},
            }]
        return [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", -1),
            ("grpc.service_config", json.dumps(config)),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.dns_min_time_between_resolutions_ms", 500),
            ("grpc.per_rpc_retry_buffer_size", _RETRY_BYTES),
            ("grpc.initial_reconnect_backoff_ms", 200),
            ("grpc.max_reconnect_backoff_ms", 2000),
            ("grpc.keepalive_time_ms", 30_000),  # notices a server that is gone without a word while a call waits
            ("grpc.http2.max_pings_without_data", 0),  # as many as it takes
        ]
