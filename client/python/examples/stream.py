#!/usr/bin/env python3
"""Prints the segments of a file as they are finished.

    client/python/examples/stream.py localhost:50051 FILE.txt
"""

import sys
from pathlib import Path

from salient_client import Client


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    address, path = sys.argv[1:3]
    with Client(address) as client:
        segments = client.stream(Path(path).read_text(encoding="utf-8"))
        for segment in segments:
            print(segment.text, flush=True)
        print(f"{segments.result.report.target_tokens} tokens", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
