"""Damaged files and destroyed scans, by the thousand (`python -m benchmarks.fuzz`)."""
