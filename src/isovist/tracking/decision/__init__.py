"""The verdict on the hypotheses of a drive."""
