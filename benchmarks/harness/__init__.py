"""What the benchmark commands share. The commands are `benchmarks/peers`, `benchmarks/scale`, `benchmarks/ops` and
others."""
