"""Commands that start a service, and `warm-up`."""
