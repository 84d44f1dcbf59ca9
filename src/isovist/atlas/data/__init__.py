"""What an atlas holds, in 2D and 3D, and how it is stored."""
