"""The measurement model of a beam, and scores of poses."""
