"""The server: localize robots on the maps of a folder, over HTTP or zenoh (extra `serve`).

`start` runs it. `app` has its addresses, and `openapi` describes them. `requests` reads a request.
`processes` has the worker processes that answer requests. `maps` keeps the folder of maps, and
`sessions` the robots that are tracked.
"""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
