"""Descriptors of nodes, and the comparison of a scan with all of them."""
