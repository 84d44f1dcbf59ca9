"""The commands of the product."""
