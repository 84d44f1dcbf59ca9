"""Open the socket that an application listens on."""

import socket

import isovist as iv


def listen(host: str, port: int, application: str = "The studio") -> socket.socket:
    """Open a listening socket; raise an error with the reason if that fails.

    Args:
        host: Address to listen on.
        port: Port to listen on; 0 for a free one.
        application: Name of the application, for the error text.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small pieces at once, not after 40 ms, only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen()  # a browser that is faster than the server waits
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise iv.InputError(
            f"{application} cannot listen at {host}, port {port}: {reason}. Use another `port`.",
            code="unavailable",
        ) from error
    return listener


def url_of(listener: socket.socket, host: str) -> str:
    """Return the address of a listening socket for a browser or a client."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/"
