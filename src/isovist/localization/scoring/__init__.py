"""Score fitted poses by casting beams, and exclude those that the evidence rules out."""
