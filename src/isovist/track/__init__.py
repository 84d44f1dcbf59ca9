"""Moving robots: a belief carried along by odometry."""
