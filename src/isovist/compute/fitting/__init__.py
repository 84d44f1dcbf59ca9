"""Fit poses of scans to walls by Gauss–Newton."""
