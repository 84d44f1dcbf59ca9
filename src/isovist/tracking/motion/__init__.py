"""The motion of a robot between two scans: by odometry, or at an even pace without it."""
