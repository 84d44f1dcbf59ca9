"""Where to drive, so that one place is left."""
