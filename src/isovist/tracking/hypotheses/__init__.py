"""The bank of places where the robot may be, and the keyframes that compare them."""
