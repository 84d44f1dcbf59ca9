"""What computes: the cores of this machine, or its graphics card, behind one door."""
