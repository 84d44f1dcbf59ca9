"""Many scans: where is the robot now?"""
