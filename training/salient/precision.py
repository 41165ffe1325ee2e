"""Which number format matrices are multiplied in."""

import torch


def has_bf16(device: str) -> bool:
    """Whether bf16 is faster than fp32: not on a CPU without AVX-512, where PyTorch has no instructions for it."""
    return device != "cpu" or "CPU capability usage: AVX512" in torch.__config__.show()
