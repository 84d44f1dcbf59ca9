"""Every statement of the paper, tried on random cases."""
