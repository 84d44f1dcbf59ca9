"""Decide: the rules of the verdict, and when to search on."""
