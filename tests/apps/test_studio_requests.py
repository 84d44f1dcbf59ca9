"""Broken requests: a sample of those of `python -m benchmarks.fuzz`."""

import numpy as np
import pytest
from benchmarks.fuzz import requests


@pytest.mark.slow
@pytest.mark.parametrize("path", requests.SOUND)
def test_sound_requests_are_answered(path):
    asked = requests.door().ask("POST", path, json=requests.SOUND[path])
    assert asked.status_code == 200
    requests.check(asked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", requests.ASKED)
def test_broken_requests_are_answered_or_refused_in_one_clear_line(kind):
    for case in range(60):
        requests.ASKED[kind](np.random.default_rng([5, case]))
