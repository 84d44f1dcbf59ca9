"""A folder of arrays that is replaced all or nothing."""
