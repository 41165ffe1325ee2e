#!/usr/bin/env python3
"""Translates a text at three settings and shows what each costs.

    client/python/examples/translate.py localhost:50051 "Good morning."
"""

import sys

from salient_client import Client, SalientError

SETTINGS = {
    "dense, full depth": {"selection": {"policy": "DENSE"}},
    "a tenth of the keys": {"selection": {"policy": "RATIO", "value": 0.1}},
    "half of the layers": {"depth": {"policy": "FIXED", "fixed_exit": 2}},
}


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    address, text = sys.argv[1:3]
    with Client(address, timeout=60) as client:
        for name, options in SETTINGS.items():
            try:
                reply = client.translate(text, **options)
            except SalientError as error:  # the model may not be trained for this setting
                print(f"{name}: {error.message}", file=sys.stderr)
                return 1
            print(f"{name}: {reply.text}\n    attention {reply.report.attention_cost_ratio:.0%} of dense, "
                  f"mean exit {reply.report.mean_exit:.1f}, {reply.report.total_seconds:.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
