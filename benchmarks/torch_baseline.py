"""What PyTorch reaches in the same decoding: bf16, scaled-dot-product attention, static caches, one CUDA graph a step.

    python3 torch_baseline.py [--device cuda] [--small]

The shape and the cases are those of device/device_bench.cc: d 512, 8 heads, 6 decoder layers, feed-forward 2,048,
vocabulary 32,000; documents of 2,048 and 8,192 source tokens, dense attention at full depth. A step embeds one token a
document, attends to 64 tokens of its own and to the source, and takes the best next token. Weights and caches are
random. With CUDA the step is compiled by torch.compile where that works, and replayed as a CUDA graph either way.
Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch
from torch import nn
from torch.nn.functional import layer_norm, linear, relu, scaled_dot_product_attention

OWN_TOKENS = 64


class Decoder(nn.Module):
    """One step of a pre-norm decoder. The new token's keys go to the last position of the cache."""

    def __init__(self, d: int, heads: int, layers: int, ffn: int, vocabulary: int) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Parameter(torch.randn(vocabulary, d) * 0.05)
        shapes = {"qkv": (3 * d, d), "self_out": (d, d), "query": (d, d), "cross_out": (d, d), "up": (ffn, d),
                  "down": (d, ffn)}
        self.layers = nn.ModuleList(
            nn.ParameterDict({name: nn.Parameter(torch.randn(shape) * shape[1] ** -0.5)
                              for name, shape in shapes.items()})
            for _ in range(layers))

    def forward(self, token: torch.Tensor, own: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        """token [n]; own and source [layers, 2, n, heads, keys, head width]."""
        x = self.embedding[token]
        n, d = x.shape
        for i, layer in enumerate(self.layers):
            q, k, v = linear(layer_norm(x, (d,)), layer["qkv"]).view(n, 3, self.heads, 1, -1).unbind(1)
            own[i, 0, :, :, -1:] = k
            own[i, 1, :, :, -1:] = v
            attended = scaled_dot_product_attention(q, own[i, 0], own[i, 1])
            x = x + linear(attended.reshape(n, d), layer["self_out"])
            q = linear(layer_norm(x, (d,)), layer["query"]).view(n, self.heads, 1, -1)
            attended = scaled_dot_product_attention(q, source[i, 0], source[i, 1])
            x = x + linear(attended.reshape(n, d), layer["cross_out"])
            x = x + linear(relu(linear(layer_norm(x, (d,)), layer["up"])), layer["down"])
        return linear(layer_norm(x, (d,)), self.embedding).argmax(-1)


def stepper(model: Decoder, inputs: tuple, device: str):
    """A function that does one step: a replayed graph on a GPU, a plain call elsewhere."""
    if device != "cuda":
        return lambda: model(*inputs), "eager"
    how, step = "torch.compile", model
    try:
        step = torch.compile(model)
        step(*inputs)
    except Exception:  # what torch.compile cannot do on a machine shows as any of many errors
        how, step = "eager", model
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(*inputs)
    return graph.replay, f"{how}, CUDA graph"


def measure(step, device: str, steps: int) -> float:
    """Seconds per step, the median of several runs."""
    runs = []
    for _ in range(5):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        runs.append((time.perf_counter() - start) / steps)
    return statistics.median(runs)


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--small", action="store_true", help="shapes for rehearsing on a machine without a GPU")
    arguments = parser.parse_args()
    d, heads, layers, ffn, vocabulary = (64, 2, 2, 128, 500) if arguments.small else (512, 8, 6, 2048, 32000)
    cases = [(1, 100), (4, 100)] if arguments.small else [(1, 2048), (64, 2048), (64, 8192)]
    torch.manual_seed(1)
    model = Decoder(d, heads, layers, ffn, vocabulary).to(arguments.device, torch.bfloat16).eval()
    print(f"\n## PyTorch {torch.__version__}, bf16, dense, {OWN_TOKENS} tokens of its own\n")
    print("| case | how | a step | tokens/s |\n|---|---|---|---|")
    for documents, length in cases:
        def cache(keys: int, n: int = documents) -> torch.Tensor:
            shape = (layers, 2, n, heads, keys, d // heads)
            return torch.randn(shape, dtype=torch.bfloat16, device=arguments.device)

        token = torch.randint(vocabulary, (documents,), device=arguments.device)
        step, how = stepper(model, (token, cache(OWN_TOKENS), cache(length)), arguments.device)
        seconds = measure(step, arguments.device, 5 if arguments.small else 50)
        print(f"| {documents} x {length} | {how} | {seconds * 1e6:.0f} us | {documents / seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
