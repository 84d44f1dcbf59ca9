"""Compare a scan with the descriptors of all nodes."""
