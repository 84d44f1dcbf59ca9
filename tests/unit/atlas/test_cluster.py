"""Atlases built by the workers of a cluster: the same bytes, whoever is killed on the way."""

import os
import signal

import pytest
from tests.support.cells import plane, space
from tests.support.command_line import run
from tests.support.errors import refused

import isovist as iv

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed", reason="needs pip install 'isovist[cluster]'")

BUILDS = {
    "plane": (plane(1), {"settings": iv.AtlasSettings(spacing=0.2, reach=2.5)}),
    "space": (space(1), {"settings": iv.AtlasSettings(spacing=0.4, reach=2.5, rings=8)}),
}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        env={"NUMBA_NUM_THREADS": "1"},
    ) as two:
        yield two


@pytest.mark.nightly
def test_a_worker_killed_in_mid_build_changes_no_byte(cluster):
    """In space; what is lost with a worker is a block, of whatever kind, and begun anew."""
    world, how = BUILDS["space"]
    told, killed = [], []

    def kill(share):
        told.append(share)
        if not killed and share < 1.0:
            with distributed.Client(cluster, set_as_default=False) as client:
                busy = [name for name, tasks in client.processing().items() if tasks]
                if busy:
                    killed.append(client.run(os.getpid, workers=busy[:1])[busy[0]])
                    os.kill(killed[0], signal.SIGKILL)

    built = iv.build(world, cluster=cluster.scheduler_address, progress=kill, **how)
    assert len(killed) == 1
    assert told == sorted(told)
    assert told[-1] == 1.0
    alone = iv.build(world, **how)
    for name, array in alone.arrays().items():
        assert built.arrays()[name].tobytes() == array.tobytes(), name


def test_the_command_builds_on_a_cluster(cluster, tmp_path):
    world, built = tmp_path / "office.yaml", []
    iv.write_map(BUILDS["plane"][0], world)
    for more in ([], ["--cluster", cluster.scheduler_address]):
        path = tmp_path / f"{len(built)}.atlas"
        assert run("build", world, "-o", path, *more).code == 0
        arrays = iv.read_atlas(path).arrays()
        built.append({name: array.tobytes() for name, array in arrays.items()})
    assert built[0] == built[1]


def test_workers_of_this_machine_end_with_the_build():
    world, how = BUILDS["plane"]
    built = iv.build(world, cluster="local:1", **how)
    assert (built.descriptors == iv.build(world, **how).descriptors).all()


@pytest.mark.parametrize("address", ["local:0", "local:four", "10.0.0.5", ""])
def test_what_is_no_address_of_a_cluster_is_refused(address):
    with refused("cluster"):
        iv.build(BUILDS["plane"][0], cluster=address)


def test_a_cluster_that_cannot_work_is_refused(monkeypatch):
    world = BUILDS["plane"][0]
    with refused(code="conflict"):
        iv.build(world, cluster="local:4", backend="cuda")
    monkeypatch.setattr("isovist.atlas.description.cluster.TIMEOUT_S", 0.2)
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as empty:
        for address in ("tcp://127.0.0.1:9", empty.scheduler_address):
            with refused(code="unavailable"):
                iv.build(world, cluster=address)
