"""Rate beams by the measurement model, and score poses."""
