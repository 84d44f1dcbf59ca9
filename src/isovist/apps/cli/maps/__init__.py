"""`isovist map`: make and convert 2D maps."""
