"""A worker of a server that ends at some requests: `python -m dying_worker`."""

import os
import pickle

from isovist.localization.workers import answer_each, run
from isovist.serve.answers import Answered


def echo(asked):
    if any(body.data == b"end" for body in asked.bodies):
        os._exit(3)
    return [Answered(text=body.data) for body in asked.bodies]


def work(read, write):
    pickle.load(read)  # the limits
    answer_each(read, write, echo)


if __name__ == "__main__":
    run(work)
