"""F and J of the paper, exactly."""
