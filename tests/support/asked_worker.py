"""A worker of a server that says with whom it was asked: `python -m tests.support.asked_worker`."""

import os
import pickle

from isovist.apps import Reply
from isovist.localization.workers import answer_requests, run_worker


def work(read, write):
    pickle.load(read)  # the limits
    library = None

    def answer(asked):
        nonlocal library
        library = library if asked.library is None else asked.library
        words = [call.body.data for call in asked.calls]
        if b"end" in words:
            os._exit(3)
        if b"fail" in words:
            raise ZeroDivisionError("by mistake")
        return [Reply({"library": library, "together": len(words)}, word) for word in words]

    answer_requests(read, write, answer)


if __name__ == "__main__":
    run_worker(work)
