"""A worker that says what it is asked: `python -m echo_worker`."""

import os

from isovist import InputError
from isovist.localization.workers import answer_requests, run_worker


def echo(asked):
    if asked is None:
        os._exit(3)
    if asked < 0:
        raise InputError(f"Scan {asked} is refused.")
    return asked, "x" * 100 * (asked % 7)


if __name__ == "__main__":
    run_worker(lambda read, write: answer_requests(read, write, echo))
