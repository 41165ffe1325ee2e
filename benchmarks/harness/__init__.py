"""What the benchmark commands share. `benchmarks/peers`, `benchmarks/scale` and `benchmarks/ops` are the way in."""
