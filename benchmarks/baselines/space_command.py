"""`python -m benchmarks.baselines space`: ours beside others, on the same scans in 3D."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.baselines.availability import Only
from benchmarks.baselines.contest3d import absences, arena_of, chosen_peers, peer_rows, posed_trials
from isovist.apps.cli.bench.rows import print_rows, simulate_site
from isovist.apps.cli.support import options
from isovist.apps.cli.support.maps import BuildOptions
from isovist.apps.cli.support.progress import bar
from isovist.errors import InputError
from isovist.evaluation.protocols import Trial
from isovist.io.maps.read import read_map
from isovist.maps.kinds import AnyMap
from isovist.sensing.models.simulate import Placement
from isovist.sensing.models.spinning import SpinningLidar

Clouds = Annotated[
    list[Path] | None,
    typer.Argument(metavar="SCANS", help="Clouds of points, or folders of them; see --poses."),
]


def space(
    world: options.Map,
    scans: Clouds = None,
    poses: Annotated[
        Path | None,
        typer.Option(help="Poses of the sensor on the map, a line for each scan, TUM or KITTI."),
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(min=1, help="Number of simulated scans at random places, in their stead."),
    ] = None,
    height: Annotated[float, options.height()] = 1.0,
    rings: Annotated[int, options.rings(", ±15°")] = 16,
    range_max: options.RangeMax = 30.0,
    noise: options.Noise = 0.03,
    clutter: options.Clutter = 0.1,
    voxel: Annotated[
        float, typer.Option(min=0.01, help="Side of the voxels that peers thin clouds to, in m.")
    ] = 0.3,
    only: Only = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Ours, KISS-Matcher, FPFH with RANSAC and Scan Context, GICP after each, on one map."""
    peers = chosen_peers(only)
    for why in absences(peers):
        typer.echo(why, err=True)
    lidar = SpinningLidar(rings, range_max=range_max, noise=noise, clutter=clutter)
    site, trials = asked_in_space(world, scans or [], poses, simulate, lidar, seed, height)
    atlas = BuildOptions(height=height).build(site)
    arena = arena_of(world, atlas, trials, voxel)
    with bar(world.stem) as advance:
        rows = list(peer_rows(world.stem, arena, trials, peers, advance))
    print_rows(rows, as_json)


def asked_in_space(
    path: Path,
    scans: Sequence[Path],
    poses: Path | None,
    simulate: int | None,
    lidar: SpinningLidar,
    seed: int,
    height: float,
) -> tuple[AnyMap, list[Trial]]:
    """A map with clouds whose poses are known, or with so many simulated ones."""
    if bool(scans) == (simulate is not None):
        raise InputError(
            "Give scans with `--poses`, or `--simulate N`: one of the two.", code="conflict"
        )
    if (given := read_map(path)).dimension != 3:
        raise InputError(
            f"{path.name} is of the plane, and peers in space need a map in space.",
            code="wrong_dimension",
        )
    if simulate is None:
        return given, posed_trials(scans, poses)
    return simulate_site(given, lidar, simulate, seed, Placement(height=height))
