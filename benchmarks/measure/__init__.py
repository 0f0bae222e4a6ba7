"""What the benchmarks share: contests of processes that measure the same cases in turn."""
