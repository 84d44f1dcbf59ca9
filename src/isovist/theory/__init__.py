"""What the paper proves of descriptors, as functions."""
