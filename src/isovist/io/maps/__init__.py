"""Maps from files, and to files."""
