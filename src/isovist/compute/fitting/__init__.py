"""Gauss-Newton fits of scans to walls."""
