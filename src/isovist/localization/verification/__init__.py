"""Verification of poses and answers: checks, complete searches and proofs."""
