#!/usr/bin/env python3
"""Translates files of any format, several at once, with asyncio: report.docx becomes OUT/report.docx.

    client/python/examples/folder.py localhost:50051 OUT FILE...
"""

import asyncio
import sys
from pathlib import Path

from salient_client import AsyncClient, SalientError


async def translate(client: AsyncClient, path: Path, out: Path) -> bool:
    try:
        if (out / path.name).exists() and (out / path.name).samefile(path):
            raise ValueError("its translation would overwrite it; give another folder")
        reply = await client.translate_file(path, out / path.name, priority="BULK")
    except (SalientError, ValueError, OSError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return False
    print(f"{path}: {reply.report.segments} segments")
    return True


async def main() -> int:
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    address, out, *files = sys.argv[1:]
    Path(out).mkdir(exist_ok=True)
    async with AsyncClient(address) as client:
        done = await asyncio.gather(*(translate(client, Path(file), Path(out)) for file in files))
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
