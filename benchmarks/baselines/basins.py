"""From how far away does a refinement come home?

Each query begins at its true pose, moved by a distance and turned by an angle in random directions,
and counts when it ends within 0.2 m and 3° of the truth.  Gauss–Newton on the paper's descriptor,
with weights of several widths and with hard bins, against the alignment with distances to walls of
the product.
"""

from collections.abc import Callable, Sequence

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.base import Atlas
from isovist.basis import DirectionalBasis
from isovist.evaluation.metrics import Row
from isovist.evaluation.protocols import Trial
from isovist.paper.localizer import PaperLocalizer
from isovist.paper.static.scan_descriptor import Beams
from isovist.poses import wrap_angle
from isovist.sensing.scan import Scan
from isovist.sensing.signals import Range

STARTS = ((0.1, 2.0), (0.25, 5.0), (0.5, 10.0), (0.75, 15.0), (1.0, 20.0), (1.5, 40.0))
"""Distances in m and angles in degrees."""
WIDTHS = (0.25, 1.0, 4.0, 16.0, 64.0)
"""Temperatures, in squares of the mesh norm."""
BOTH = 4.0
"""That of them which is handed on to the walls."""
HARD = 1e-3
"""A temperature, in the same unit, whose weights are bins: they glide over 0.2 % of one."""
HOME = (0.2, np.radians(3.0))
CHANNELS = 32
SIGMAS = (1.0, 0.5, 0.25, 0.1, 0.05)
"""Of four steps each of the alignment with walls, in m: as many as Gauss–Newton has at most."""


def basin_rows(
    site: str,
    atlas: Atlas,
    trials: Sequence[Trial],
    *,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _share: None,
) -> list[Row]:
    """One row for each way to refine."""
    h = np.pi / CHANNELS
    ways: dict[str, PaperLocalizer | None] = {"walls": None}
    for width in (HARD, *WIDTHS):
        basis = DirectionalBasis.circle(CHANNELS, width * h * h)
        signal = Range(atlas.settings.reach, "logarithmic")
        name = "F, hard bins" if width == HARD else f"F, ε = {width:g} h²"
        ways[name] = PaperLocalizer(atlas.world, basis, signal)
    both = f"F, ε = {BOTH:g} h², then walls"
    ways[both] = ways[f"F, ε = {BOTH:g} h²"]
    rows: list[Row] = []
    for number, (name, localizer) in enumerate(ways.items()):
        rng = np.random.default_rng(seed)
        home = np.zeros(len(STARTS))
        for trial in trials:
            scan = trial.scan()
            assert isinstance(scan, Scan)
            truth = np.asarray((trial.truth @ scan.T_robot_level).vector)
            for k, (away, turn) in enumerate(STARTS):
                along = rng.uniform(0.0, 2.0 * np.pi)
                side = 1.0 if rng.random() < 0.5 else -1.0
                moved = (away * np.cos(along), away * np.sin(along), side * np.radians(turn))
                start = truth + np.array(moved)
                end = _refined(atlas, localizer, scan, start)
                if name == both:
                    end = _refined(atlas, None, scan, end)
                near = np.hypot(*(end - truth)[:2]) <= HOME[0]
                home[k] += near and abs(wrap_angle(end[2] - truth[2])) <= HOME[1]
        progress((number + 1) / len(ways))
        shares = {
            f"{away:g} m {turn:g}°": float(count / len(trials))
            for (away, turn), count in zip(STARTS, home, strict=True)
        }
        rows.append({"site": site, "refinement": name, "queries": len(trials), **shares})
    return rows


def _refined(
    atlas: Atlas, localizer: PaperLocalizer | None, scan: Scan, start: FloatArray
) -> FloatArray:
    pose = np.asarray(start, dtype=np.float64)
    if localizer is None:
        from isovist.localization.settings import LocalizationSettings

        settings = LocalizationSettings()
        beams = atlas.beams(scan, settings.fit.fine_beams, settings.scoring.group)
        return atlas.fit(beams, pose[None], np.repeat(SIGMAS, 4), 3).poses[0]
    if not bool(localizer.world.contains(pose[:2])):
        return pose
    seen = Beams.of(scan, [localizer.descriptors[0].signal])
    return localizer.refine(seen, pose)
