"""Compute what a 3D sensor sees from nodes, and how well that fixes its pose.

A view is a simulated scan.  It is taken from every few nodes at each heading, described as `locate`
would describe it, and fitted from where it was taken: σ is what an answer there would report.  A
view with too few beams for a scan is blind.  A node in between sees what the nearest one in sight
does.  How distinct a place is, μ, is that of `slopes`: it knows all rings of the atlas and not only
those of the sensor.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray
from isovist.atlas import SpaceAtlas, bare_walls
from isovist.errors import InputError
from isovist.localization import covariances, information
from isovist.poses import Pose3
from isovist.sensing import CloudScan, SpinningLidar
from isovist.surveying.lattice import in_sight, thinned
from isovist.surveying.plan import SurveyPlan
from isovist.surveying.views.slopes import descriptor_slopes
from isovist.surveying.views.view_set import Channels, Progress, Views


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Views3D(Views):
    """The views of a 3D sensor from N nodes at H headings, as channels.

    Attributes:
        values: Mean log(1 + r) of the channels, turned to the heading 0, shape (H, A, rings, n).
        is_seen: Which of them count, shape (H, A, rings, n).
    """

    values: Float32Array
    is_seen: BoolArray

    def channels(self, plan: SurveyPlan, heading: int) -> Channels:
        return Channels(self.values[heading], self.is_seen[heading], plan.places[self.viewpoints])


def view_in_3d(plan: SurveyPlan, progress: Progress = lambda _share: None) -> Views3D:
    """Simulate the view of a 3D sensor from some nodes of a plan."""
    atlas, lidar = plan.atlas, plan.lidar
    assert isinstance(atlas, SpaceAtlas)
    assert isinstance(lidar, SpinningLidar)  # `survey` has checked that the sensor fits
    visibility, full = plan.settings.visibility, lidar.field_of_view >= 2.0 * np.pi - 1e-9
    count = 1 if full else visibility.headings
    max_views = visibility.max_views // visibility.headings // count
    viewpoints = thinned(atlas, plan.nodes, max_views)[0]
    headings = 2.0 * np.pi * np.arange(count) / count
    around = atlas.descriptors.shape[1:]
    values = np.zeros((count, len(viewpoints), *around), dtype=np.float32)
    is_seen = np.zeros(values.shape, dtype=np.bool_)
    rows = np.zeros((len(viewpoints), count, 4))
    rows[..., 2:] = (
        10.0 * plan.localization.decision.max_position_std_m,
        np.pi,
    )  # where no wall fixes the pose
    walls, clean = bare_walls(atlas.world), replace(lidar, clutter=0.0)
    rng = np.random.default_rng(0)
    for k, (x, y, z) in enumerate(plan.places[viewpoints]):
        for h, yaw in enumerate(headings):
            pose = Pose3(x, y, yaw, z)
            try:
                scan = clean.scan(walls, pose, rng)
            except InputError:  # too few beams return
                continue
            window = atlas.window(scan, plan.localization.search.min_seen_share_2d)
            rings = slice(window.ring, window.ring + window.values.shape[1])
            turn = round(h * around[1] / count)
            values[h, k, rings] = np.roll(window.values[0], turn, axis=-1)
            is_seen[h, k, rings] = np.roll(window.seen[0], turn, axis=-1)
            rows[k, h] = _fit(atlas, scan, pose, plan)
        progress((k + 1) / len(viewpoints))
    mu, weakest = (array[plan.nodes] for array in descriptor_slopes(atlas))
    finite = mu[np.isfinite(mu)]
    median = float(np.median(finite)) if finite.size else 0.0
    beams, witnesses, sigma, sigma_yaw = np.moveaxis(rows[in_sight(plan, viewpoints)], -1, 0)
    return Views3D(
        headings=headings,
        viewpoints=viewpoints,
        values=values,
        is_seen=is_seen,
        beams=beams,
        witnesses=witnesses,
        sigma=sigma,
        sigma_yaw=sigma_yaw,
        mu=np.repeat(np.nan_to_num(mu, nan=median)[:, None], count, axis=1),
        weakest=weakest,
    )


def _fit(atlas: SpaceAtlas, scan: CloudScan, pose: Pose3, plan: SurveyPlan) -> FloatArray:
    """Fit a scan; return its points, its beams, σ of the worst horizontal axis (m) and of yaw."""
    localization = plan.localization
    beams = atlas.beams(scan, localization.fit.fine_beams, localization.scoring.group)
    start = np.asarray(pose.vector)[None]
    fit = atlas.fit(beams, start, localization.fine_widths(atlas), atlas.fitted(False))
    normal = information(fit, beams.blocks, atlas.cell(fit.poses), localization)
    C = covariances(normal, localization)[0]
    sigma = np.sqrt([np.linalg.eigvalsh(C[:2, :2])[-1], C[2, 2]])
    return np.array([len(scan.points), len(beams.columns), *sigma])
