"""How a channel to the server is set up, for both clients."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List, Optional, Tuple

import grpc

from .files import StrPath

# A call is kept for another try while it fits in here, which must be more than the largest document.
_RETRY_BYTES = 64 << 20


@dataclass(frozen=True)
class Connection:
    """Where the server is, and how it is spoken to.

    tls: encrypt, and trust the authorities that this machine trusts. Any of the files that follow implies it.
    ca: PEM file of the authority that signed the server's certificate.
    certificate, key: PEM files of the client's certificate and its private key, where the server asks for one.
    api_key: shown with every call. Without TLS it travels in the clear.
    attempts: how often a call is tried in all. What the server refused for want of room is tried again after the time
        that it asks for, what it did not live to answer after a growing pause; never past the call's timeout.
    """

    address: str
    api_key: Optional[str] = None
    tls: bool = False
    ca: Optional[StrPath] = None
    certificate: Optional[StrPath] = None
    key: Optional[StrPath] = None
    attempts: int = 5

    def metadata(self) -> Tuple[Tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.api_key}"),) if self.api_key else ()

    def credentials(self) -> Optional[grpc.ChannelCredentials]:
        """None: without TLS."""
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
        ]
