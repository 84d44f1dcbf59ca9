"""Generated buildings and streets that only benchmarks and tests use."""
