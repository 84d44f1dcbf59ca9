"""The geometry that a basis gives to signals."""
