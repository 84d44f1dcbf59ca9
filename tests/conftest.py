"""The same examples every time, threads that wait quietly, and fixtures for all layers."""

import gc
import logging
import os
import sys
from functools import cache

# Workers share the cores, so threads of their own only get in the way, SciPy's and ours; what a
# test says of threads it says of a number that it sets.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from isovist.compute import BACKENDS, use_backend
from isovist.errors import InputError

settings.register_profile(
    "isovist",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("isovist")

# A process of the program makes its commands once, and a test of it by every call: 40 ms each.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)

# What is imported stays; looking through it for garbage again and again takes a twentieth.
gc.disable()  # until all tests are found


def pytest_addoption(parser):
    words = "replace sentences by their codes: only tests of sentences (test_advice.py) may fail"
    parser.addoption("--codes", action="store_true", help=words)


def pytest_configure(config):
    if config.getoption("--codes"):
        from isovist.localization import advice
        from isovist.tracking import advice as tracking_advice

        for sentences in (advice.SENTENCES, tracking_advice.SENTENCES):
            sentences.update({reason: lambda _, code=reason.value: code for reason in sentences})


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.fixture
def typed(monkeypatch, capsys):
    """Type a command line in this process; return its exit code, output and errors."""
    from isovist.apps import main

    def run(*words):
        notes = logging.getLogger("isovist")
        before = notes.handlers[:]
        monkeypatch.setattr(sys, "argv", ["isovist", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        notes.handlers[:] = before
        printed = capsys.readouterr()
        return end.value.code, printed.out, printed.err

    return run


@pytest.fixture(
    params=[pytest.param(name, marks=() if name == "cpu" else pytest.mark.gpu) for name in BACKENDS]
)
def backend(request):
    """Yield every backend in turn, active; skip those that this machine lacks.

    Tests that use it compare all backends with the same twins.
    """
    try:
        with use_backend(request.param) as active:
            yield active
    except InputError as error:
        pytest.skip(str(error))
