"""The same examples every time, threads that wait quietly, and which tests are slow."""

import os

# Two workers share the cores: a thread of theirs that waits must not spin (it took 4/5 of the
# time of small parallel loops), and SciPy's threads only get in the way.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "isovist",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("isovist")

SLOW = ()
"""Files, or tests by the beginning of their name, that `make quick` leaves out."""


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.removeprefix("tests/").startswith(SLOW):
            item.add_marker(pytest.mark.slow)
