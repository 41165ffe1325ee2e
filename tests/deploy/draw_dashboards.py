"""Draws the dashboards as they look after some minutes of load, from their own queries, where Grafana is not at hand.

    build/deploy-tools/bin/pip install matplotlib
    build/deploy-tools/bin/python tests/deploy/draw_dashboards.py docs/figures [SECONDS]
"""

import json
import random
import re
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.dates as dates  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, PercentFormatter  # noqa: E402

from expressions import DASHBOARDS, RULES, panels  # noqa: E402
from programs import DOCUMENT, Server, get, prometheus, translate  # noqa: E402

SETTINGS = [["--selection", "dense", "--exit", "full"], ["--selection", "learned", "--exit", "geometric"],
            ["--selection", "learned", "--exit", "confidence:0.6"], ["--selection", "ratio:0.1"], ["--beam", "4"]]
UNITS = {"percentunit": PercentFormatter(1.0, decimals=0),
         "s": FuncFormatter(lambda value, _: f"{value:g} s" if value >= 1 else f"{1000 * value:g} ms")}


def load(server, seconds, folder):
    """Clients that start one after another, each with documents of its own length and settings."""
    end = time.monotonic() + seconds
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.strip()]

    def call(number):
        time.sleep(number * seconds / 16)
        random.seed(number)
        while time.monotonic() < end:
            document = Path(folder, f"document-{number}.txt")
            document.write_text("\n".join(random.choices(lines, k=random.choice([1, 3, 10, 40]))))
            translate(server.grpc, *random.choice(SETTINGS), document=document)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def series(address, expression, begun, ended):
    query = urllib.parse.urlencode({"query": expression, "start": begun, "end": ended, "step": 1})
    return json.loads(get(f"http://{address}/api/v1/query_range?{query}"))["data"]["result"]


def draw_panel(axes, panel, address, begun, ended):
    expressions = [entry for entry in panels() if entry[1] == panel["title"] and entry[0] == panel["dashboard"]]
    defaults = panel["fieldConfig"]["defaults"]
    axes.set_title(panel["title"], fontsize=8, loc="left")
    lines = []
    for target, (_, _, expression) in zip(panel["targets"], expressions):
        for found in series(address, expression, begun, ended):
            name = re.sub(r"\{\{(\w+)\}\}", lambda match: found["metric"].get(match[1], ""), target["legendFormat"])
            values = [float(value) for _, value in found["values"]]
            lines.append((name, [dates.epoch2num(at) if hasattr(dates, "epoch2num") else at / 86400
                                 for at, _ in found["values"]], values))
    if panel["type"] == "stat":
        axes.axis("off")
        value = lines[0][2][-1] if lines else float("nan")
        formatter = UNITS.get(defaults.get("unit"))
        decimals = defaults.get("decimals", 2)
        text = f"{value:.{decimals}f}"
        if defaults.get("unit") == "percentunit":
            text = f"{100 * value:.{decimals}f} %"
        elif formatter:
            text = f"{value:.{decimals}f} s"
        axes.text(0.5, 0.4, text, ha="center", va="center", fontsize=16)
        return
    if panel["type"] == "heatmap":
        lines.sort(key=lambda line: float(line[0]))
        rows = min(len(line[2]) for line in lines)
        below = [0.0] * rows
        grid = []
        for _, _, values in lines:
            grid.append([max(0.0, value - less) for value, less in zip(values[-rows:], below)])
            below = values[-rows:]
        axes.pcolormesh(lines[0][1][-rows:], range(len(lines)), grid, cmap="Blues", shading="nearest")
        axes.set_yticks(range(len(lines)), [name for name, _, _ in lines], fontsize=5)
    elif defaults.get("custom", {}).get("stacking", {}).get("mode") == "normal":
        times = max((line[1] for line in lines), key=len)
        padded = [[0.0] * (len(times) - len(line[2])) + line[2] for line in lines]
        axes.stackplot(times, padded, labels=[name for name, _, _ in lines], alpha=0.5)
        axes.legend(fontsize=5, loc="upper left", frameon=False)
    else:
        for name, times, values in lines:
            axes.plot(times, values, label=name, linewidth=0.9)
        if any(name for name, _, _ in lines):
            axes.legend(fontsize=5, loc="upper left", frameon=False)
        axes.set_ylim(bottom=0)
    if panel["type"] != "heatmap" and defaults.get("unit") in UNITS:
        axes.yaxis.set_major_formatter(UNITS[defaults["unit"]])
    axes.xaxis.set_major_formatter(dates.DateFormatter("%H:%M:%S"))
    axes.tick_params(labelsize=5)
    axes.grid(alpha=0.2)


def draw(path, out, address, begun, ended):
    dashboard = json.loads(path.read_text())
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in dashboard["panels"])
    figure = plt.figure(figsize=(12, 0.3 * height), dpi=110)
    figure.suptitle(dashboard["title"], fontsize=11, y=0.995)
    for panel in dashboard["panels"]:
        at = panel["gridPos"]
        left, bottom = at["x"] / 24, 1 - (at["y"] + at["h"]) / height
        if panel["type"] == "row":
            figure.text(left + 0.01, bottom + 0.2 / height, panel["title"], fontsize=9, weight="bold")
            continue
        axes = figure.add_axes([left + 0.03, bottom * 0.98 + 1.2 / height,
                                at["w"] / 24 - 0.045, at["h"] / height * 0.98 - 2.4 / height])
        draw_panel(axes, {**panel, "dashboard": path.stem}, address, begun, ended)
    name = path.stem.replace("salient-", "dashboard-") + ".png"
    figure.savefig(out / name)
    print(out / name)


def main():
    out = Path(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 120
    with tempfile.TemporaryDirectory() as folder, Server(folder, "--max-rows", "32") as server:
        with prometheus(folder, [server.admin], RULES) as address:
            begun = time.time()
            load(server, seconds, folder)
            ended = time.time()
            for path in DASHBOARDS:
                draw(path, out, address, begun + 5, ended)


if __name__ == "__main__":
    main()
