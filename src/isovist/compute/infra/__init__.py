"""How kernels are compiled, kept, and shared among cores."""
