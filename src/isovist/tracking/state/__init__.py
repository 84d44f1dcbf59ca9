"""The state of a tracker, in memory and saved."""
