"""Read a scan in other ways: leaning, in any attitude, mirrored, at another scale."""
