"""Worker processes, which answer the requests of the server."""
