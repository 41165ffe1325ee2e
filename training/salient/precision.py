"""Which number format matrices are multiplied in."""

from pathlib import Path

INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}  # either multiplies bf16; without them PyTorch converts to fp32 and back


def has_bf16(device: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether bf16 is faster than fp32: on a GPU, and on a CPU with instructions for it."""
    if device != "cpu":
        return True
    return cpuinfo.exists() and not INSTRUCTIONS.isdisjoint(cpuinfo.read_text().split())
