"""Client of Salient, a document-translation server.

    from salient_client import Client

    with Client("localhost:50051") as client:
        print(client.translate("Good morning.").text)

`AsyncClient` is the same for asyncio. Errors are the exceptions of `salient_client.errors`. Methods return the messages
of the API, in `salient_client.proto.translation_pb2`; comments in the API say what each field means.
"""

from .aio import AsyncClient
from .client import Client
from .errors import SalientError
from .options import Options

__all__ = ["AsyncClient", "Client", "Options", "SalientError"]
