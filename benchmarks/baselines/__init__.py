"""Other methods beside ours, on the same scans."""
