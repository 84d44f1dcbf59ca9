"""Rooms and buildings on which statements are tried."""
