"""Which number format matrices are multiplied in, and what becomes of the smallest numbers."""

from pathlib import Path

import torch

INSTRUCTIONS = {"avx512_bf16", "amx_bf16"}  # either multiplies bf16; without them PyTorch converts to fp32 and back


def has_bf16(device: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether bf16 is faster than fp32: on a GPU, and on a CPU with instructions for it."""
    if device != "cpu":
        return True
    return cpuinfo.exists() and not INSTRUCTIONS.isdisjoint(cpuinfo.read_text().split())


def flush_denormals() -> None:
    """From here on the processor takes numbers below 1e-38 as 0, in this thread and in those that PyTorch starts from
    it later. A trained model's attention is full of them, and without this each costs a hundred cycles or more."""
    torch.set_flush_denormal(True)  # no effect on processors that cannot
