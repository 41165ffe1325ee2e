"""The requirements of a benchmark command: a Python environment with the peers, the built programs, the models."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "benchmarks"
REQUIREMENTS = ROOT / "benchmarks" / "requirements.txt"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def die(text: str) -> None:
    say(f"Failed: {text}")
    raise SystemExit(1)


def end_on_sigterm() -> None:
    """SIGTERM ends this process as Ctrl-C does, so that the servers and programs that it has started end with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def enter(module: str, folder: Path = BUILD / "venv") -> NoReturn:
    """Runs `module` with this command's arguments in a virtual environment that has REQUIREMENTS. For --help none is
    made. Does not return."""
    python, only_helps = folder / "bin" / "python", bool({"-h", "--help"} & set(sys.argv[1:]))
    ready = folder / "ready"
    wanted = REQUIREMENTS.read_text()
    if not ready.exists() or ready.read_text() != wanted:
        base = next((p for p in (sys.executable, "/usr/bin/python3") if Path(p).exists() and has_torch(p)), None)
        if base is None:
            die("no Python here has PyTorch, which makes the models: apt-get install python3-torch")
        if only_helps:
            run(base, module)
        say(f"Making a virtual environment in {folder} ({REQUIREMENTS.relative_to(ROOT)} from PyPI)")
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "-r", str(REQUIREMENTS)]
        make = [base, "-m", "venv", "--clear", "--system-site-packages", str(folder)]
        for command in (make, [str(python), *install]):
            if subprocess.run(command).returncode != 0:
                die(f"{' '.join(command)} (Debian's venv is the package python3-venv)")
        ready.write_text(wanted)
    run(python, module)


def run(python: Path | str, module: str) -> NoReturn:
    path = os.pathsep.join(filter(None, [str(ROOT / "benchmarks"), str(ROOT / "training"),
                                         os.environ.get("PYTHONPATH")]))
    os.execve(python, [str(python), "-m", module, *sys.argv[1:]], {**os.environ, "PYTHONPATH": path})


def build(targets: list[str]) -> Path:
    """Builds programs in the release build. Returns their folder."""
    say(f"Building {', '.join(targets)}")
    for command in (["cmake", "--preset", "release", "-DSALIENT_BENCHMARKS=ON"],
                    ["cmake", "--build", "--preset", "release", "--target", *targets]):
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            say(done.stdout[-3000:])
            die(f"{' '.join(command)}: see above. scripts/benchmarks installs what the benchmarks need")
    return ROOT / "build" / "release" / "bin"


def program(path: Path) -> str:
    """What tells builds of a program apart, also of code that is not committed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def models(shape: str, converted: bool, folder: Path = BUILD / "models") -> tuple[Path, Path]:
    """The model folder of a shape, and its CTranslate2 folder. They are made only once."""
    model, other = folder / shape, folder / f"{shape}-ctranslate2"
    modules = [(model / "ready", ["harness.models", "--out", str(folder), "--shape", shape])]
    if converted:
        modules.append((other / "ready", ["harness.convert", "--model", str(model), "--out", str(other)]))
    for ready, module in modules:
        sources = [ROOT / "benchmarks" / "harness" / name for name in ("models.py", "convert.py")]
        newest = max(path.stat().st_mtime for path in sources)
        if ready.exists() and ready.stat().st_mtime > newest:
            continue
        if subprocess.run([sys.executable, "-m", *module]).returncode != 0:
            die(f"{' '.join(module)}")
        ready.touch()
    return model, other


def machine() -> dict:
    """The machine of the measurement, and its load."""
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), "unknown")
    flags = next((line.split() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("flags")), [])
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)),
            "features": [flag for flag in ("avx2", "avx512f", "avx512_vnni", "amx_int8", "amx_bf16") if flag in flags],
            "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "salient": version()}


def version() -> str:
    """The commit. It is marked if the measured code differs from it; pages that a benchmark wrote do not count."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True).stdout.strip()

    if shutil.which("git") is None:
        return "unversioned"
    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", "engine", "server", "client", "benchmarks", "training/salient",
                  ":!benchmarks/results")
    return (commit + ("-dirty" if changed else "")) if commit else "unversioned"


def conditions(about: dict) -> str:
    """One line with what ran on which machine, and whether other programs were running."""
    m = about["machine"]
    line = (f"`{about['command']}`, {m['date']}, Salient {m['salient']}, {m['cores']} cores of {m['cpu']} "
            f"({', '.join(m['features'])}).")
    if m["load"] > 0.5:
        line += f" Other work was running (load {m['load']:.1f}): only ratios mean something, and only roughly."
    return line
