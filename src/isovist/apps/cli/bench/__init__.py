"""`isovist bench`: measured rows on your own data."""
