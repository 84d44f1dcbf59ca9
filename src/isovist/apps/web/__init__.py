"""Parts that the server and the studio share: access, limits, request fields, uploads, streams."""
