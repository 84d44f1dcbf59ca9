"""Worker processes of the server, and its connections."""
