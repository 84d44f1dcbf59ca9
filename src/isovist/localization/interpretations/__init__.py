"""Other ways to read a scan: leaning, in any attitude, mirrored, at another scale."""
