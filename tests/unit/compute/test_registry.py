"""Which backend computes."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_locate import building

import isovist as iv
from isovist import Lidar
from isovist.compute import (
    BACKEND_VARIABLE,
    active_backend,
    available_backends,
    backend_named,
    set_default_backend,
    use_backend,
)


@pytest.mark.slow
def test_a_backend_is_chosen_by_the_call_or_by_the_variable(monkeypatch):
    assert active_backend().name == "cpu"
    monkeypatch.setenv(BACKEND_VARIABLE, "abacus")
    with refused("backend"):
        iv.build(building())
    with use_backend("cpu"):
        assert active_backend().name == "cpu"
    set_default_backend("cpu")
    assert active_backend().name == "cpu"
    monkeypatch.setenv(BACKEND_VARIABLE, "abacus")
    atlas = iv.build(building(), backend="cpu")
    scan = Lidar(beams=90).scan(atlas.world, iv.Pose(3.0, 2.0, 0.4), np.random.default_rng(0))
    assert iv.locate(atlas, scan, backend="cpu").estimates
    with refused("backend"):
        iv.locate(atlas, scan)


def test_a_machine_without_a_card_says_so():
    if available_backends() == ("cpu", "cuda"):
        pytest.skip("This machine has a card.")
    assert available_backends() == ("cpu",)
    with refused("backend", "unavailable"):
        backend_named("cuda")
