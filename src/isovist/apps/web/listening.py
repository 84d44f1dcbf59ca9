"""Open the socket that a server listens on."""

import socket

from isovist.errors import InputError


def listen(host: str, port: int, who: str = "The studio") -> socket.socket:
    """Open a listening socket, or raise an error that says why it cannot be opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only where the protocol is named does asyncio send small pieces at once, not after 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # a browser that is faster than the server waits
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{who} cannot listen at {host}, port {port}: {reason}. Take another `port`.",
            code="unavailable",
        ) from error
    return listener
