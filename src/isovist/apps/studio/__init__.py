"""The studio: a page in the browser that shows maps, answers and reasons (extra `studio`).

`start` runs it, and `app` has its addresses. `handlers`, `playback` and `theory_view` answer them
with the numbers of `report`; `view_models` adds what a picture needs. `reception` reads uploaded
files, and `session_store` keeps them. The page itself is in `static`.
"""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
