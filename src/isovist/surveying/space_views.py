"""What a sensor would see from nodes of space, and how firmly that holds it in place.

A view is a simulated scan.  From every few nodes one is taken at each heading, described as
`locate` would describe it, and fitted from where it was taken: σ is what an answer there would
report, and blind is where too few beams return for a scan.  A node in between sees what the nearest
one in sight does.  How distinct a place is, μ, is that of `slopes`: it knows all rings of the atlas
and not only those of the sensor.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.atlas.data.atlas3d import SpaceAtlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import covariances, information
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.models.spinning import SpinningLidar
from isovist.surveying.lattice import in_sight, thinned
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.slopes import descriptor_slopes
from isovist.surveying.views import Progress, Views


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SpaceViews(Views):
    """What a 3D sensor sees from N nodes at H headings, with the channels of the views.

    Attributes:
        values: Mean log(1 + r) of the channels, turned to the heading 0, shape (H, A, rings, n).
        seen: Which of them count, shape (H, A, rings, n).
    """

    values: Float32Array
    seen: BoolArray

    def channels(self, atlas: Atlas, heading: int, share: float) -> tuple[Float32Array, BoolArray]:
        """Return the stored channels of the views at a heading, and which count."""
        del atlas, share
        return self.values[heading], self.seen[heading]


def look_in_space(
    atlas: SpaceAtlas,
    lidar: SpinningLidar,
    floor: IntArray,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
    progress: Progress = lambda _share: None,
) -> SpaceViews:
    """Simulate what a 3D sensor sees from a thinned selection of the nodes `floor`."""
    full = lidar.field_of_view >= 2.0 * np.pi - 1e-9
    count = 1 if full else settings.views[0]
    asked = thinned(atlas, floor, settings.views[2] // settings.views[0] // count)[0]
    take = in_sight(atlas, floor, asked)
    headings = 2.0 * np.pi * np.arange(count) / count
    around = atlas.descriptors.shape[1:]
    values = np.zeros((count, len(asked), *around), dtype=np.float32)
    seen = np.zeros(values.shape, dtype=np.bool_)
    told = np.zeros((len(asked), count, 4))
    told[..., 2:] = 10.0 * localization.loose, np.pi  # where nothing holds it
    walls, clean = bare_walls(atlas.world), replace(lidar, clutter=0.0)
    rng = np.random.default_rng(0)
    for k, (x, y, z) in enumerate(atlas.positions[floor[asked]]):
        for h, yaw in enumerate(headings):
            pose = Pose3(x, y, yaw, z)
            try:
                scan = clean.scan(walls, pose, rng)
            except InputError:  # too few beams return
                continue
            window = atlas.window(scan, localization.seen_share[0])
            rings = slice(window.ring, window.ring + window.values.shape[1])
            turn = round(h * around[1] / count)
            values[h, k, rings] = np.roll(window.values[0], turn, axis=-1)
            seen[h, k, rings] = np.roll(window.seen[0], turn, axis=-1)
            told[k, h] = _held(atlas, scan, pose, localization)
        progress((k + 1) / len(asked))
    mu, weakest = descriptor_slopes(atlas)
    known = mu[floor][np.isfinite(mu[floor])]
    usual = float(np.median(known)) if known.size else 0.0
    beams, witnesses, sigma, sigma_yaw = np.moveaxis(told[take], -1, 0)
    return SpaceViews(
        headings=headings,
        asked=asked,
        values=values,
        seen=seen,
        beams=beams,
        witnesses=witnesses,
        sigma=sigma,
        sigma_yaw=sigma_yaw,
        mu=np.repeat(np.nan_to_num(mu[floor], nan=usual)[:, None], count, axis=1),
        weakest=weakest[floor],
    )


def _held(
    atlas: SpaceAtlas, scan: CloudScan, pose: Pose3, localization: LocalizationSettings
) -> FloatArray:
    """Returns, witnesses, σ of the position along its worst level axis (m) and of the heading."""
    beams = atlas.beams(scan, localization.beams[1], localization.block)
    start = np.asarray(pose.vector)[None]
    fit = atlas.fit(beams, start, localization.fine_widths(atlas), atlas.fitted(False))
    known = information(fit, beams.blocks, atlas.cell(fit.poses), localization)
    C = covariances(known, localization)[0]
    sigma = np.sqrt([np.linalg.eigvalsh(C[:2, :2])[-1], C[2, 2]])
    return np.array([len(scan.points), len(beams.columns), *sigma])
