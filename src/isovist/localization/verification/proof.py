"""Proofs of 2D answers: regions that hold every pose that could explain the scan.

The search is complete (`branch_and_bound`): it covers the whole map, whatever the descriptors
suggest.  `Proof.premise` states the assumptions of a proof; there are no others.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import AnyScan, Atlas, Beams, PlaneAtlas, max_intensity_rating
from isovist.errors import InputError
from isovist.localization.answer import Answer, Proof, Verdict
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.branch_and_bound import (
    PoseProblem,
    RemainingBoxes,
    search_pose_boxes,
)
from isovist.poses import wrap_angle

ONLY_2D = "`prove` needs a 2D map, and this atlas is 3D."


@dataclass(frozen=True, slots=True, eq=False)
class ProofResult:
    """A proof, and the poses outside the answer's place that are worth a fit.

    Attributes:
        proof: The proof.
        competitors: Poses of the sensor, the highest upper bound first, shape (K, 3).
    """

    proof: Proof
    competitors: FloatArray


def prove(
    atlas: Atlas,
    scan: AnyScan,
    answer: Answer,
    region: Region | None,
    settings: LocalizationSettings,
    limits: ProofSettings,
) -> ProofResult:
    """Search the whole map for poses that explain the scan about as well as the best estimate.

    Args:
        atlas: The atlas of a 2D map.
        scan: The scan.
        answer: The answer to prove; it must have an estimate.
        region: Where the robot may be; the proof covers poses inside.
        settings: The settings of the answer.
        limits: Sizes of boxes, and the time limit.
    """
    if not isinstance(atlas, PlaneAtlas):
        raise InputError(ONLY_2D, code="wrong_dimension", field="prove")
    start = perf_counter()
    assert answer.best is not None
    beams = _beams(atlas, scan, settings)
    model = atlas.model(settings.model)
    # Upper bounds are of ranges; the most that intensities can add lowers the minimum.
    shining = max_intensity_rating(settings.model) if beams.strengths.size else 0.0
    min_rating = answer.best.score - settings.refutation.min_lead_nats - shining
    radius, turn = settings.decision.same_place
    sensor = np.asarray((answer.best.pose @ scan.T_level_robot.inverse).vector)
    disc = [*atlas.to_cells(sensor[None])[0], radius / atlas.world.resolution, turn]
    remaining = search_pose_boxes(
        PoseProblem(atlas, beams, model, min_rating), limits,
        known_disc=np.array(disc), seconds=limits.max_time_s,
    )  # fmt: skip
    if region is not None:
        remaining = _boxes_in_region(atlas, scan, remaining, region)
    premise = (
        f"The robot is in free space of the map{'' if region is None else ' and of the region'}, "
        f"and its {len(beams)} beams are worth at least "
        f"{min_rating:.2f} nats on average there by the sensor model, "
        f"{settings.refutation.min_lead_nats:g} less "
        f"than at the best place, where {answer.best.inliers:.0%} of them end within "
        f"{3.0 * model[0]:.2f} m of a wall in view."
    )
    proof = Proof(
        premise=premise,
        floor=float(min_rating),
        complete=remaining.complete,
        unique=remaining.complete and remaining.open == 0 and answer.verdict is Verdict.UNIQUE,
        regions=readonly(_robot_discs(atlas, scan, _sensor_discs(atlas, remaining, settings))),
        lookups=remaining.lookups + remaining.wedges,
        seconds=perf_counter() - start,
    )
    return ProofResult(proof, _competitors(atlas, remaining, settings))


def _beams(atlas: PlaneAtlas, scan: AnyScan, settings: LocalizationSettings) -> Beams:
    """Return the beams of a scan; the bounds need one σ for all of them."""
    beams = atlas.beams(scan, settings.fit.fine_beams, settings.scoring.group)
    if beams.sigmas.size:
        raise InputError(
            "`prove` needs one σ for all beams, and this scan has `sigmas`. Leave them out, or "
            "leave `prove` out.",
            code="conflict",
            field="prove",
        )
    return beams


def _competitors(
    atlas: PlaneAtlas, remaining: RemainingBoxes, settings: LocalizationSettings
) -> FloatArray:
    """Return distinct poses of the sensor in open boxes, the highest upper bound first."""
    boxes = remaining.boxes[len(remaining.boxes) - remaining.open :]
    poses = atlas.from_cells(boxes[np.argsort(-boxes[:, 5], kind="stable")][:, :3])
    return poses[distinct_indices(poses, *settings.fit.separation, settings.search.full_candidates)]


def _boxes_in_region(
    atlas: PlaneAtlas, scan: AnyScan, remaining: RemainingBoxes, region: Region
) -> RemainingBoxes:
    """Return the boxes with a pose that puts the robot into the region."""
    mount, boxes = scan.T_level_robot, remaining.boxes
    robots = (atlas.lift(atlas.from_cells(boxes[:, :3])) @ mount).vector
    half_width, turn = boxes[:, 3:5].max(axis=0, initial=0.0)
    lever = float(np.hypot(mount.x, mount.y))
    margin = np.sqrt(2.0) * half_width * atlas.world.resolution + lever * turn
    inside = region.holds(robots, margin, float(turn))
    count = int(inside[len(inside) - remaining.open :].sum())
    return replace(remaining, boxes=boxes[inside], open=count)


def _robot_discs(atlas: PlaneAtlas, scan: AnyScan, discs: FloatArray) -> FloatArray:
    """Return discs of robot poses that hold those of the sensor poses, shape (n, 5)."""
    mount = scan.T_level_robot
    robots = (atlas.lift(discs[:, :3]) @ mount).vector
    lever = float(np.hypot(mount.x, mount.y))
    radius = discs[:, 3] + 2.0 * lever * np.sin(0.5 * np.minimum(discs[:, 4], np.pi))
    return np.column_stack([robots, radius, discs[:, 4]])


def _sensor_discs(
    atlas: PlaneAtlas, remaining: RemainingBoxes, settings: LocalizationSettings
) -> FloatArray:
    """Return discs of sensor poses that hold all boxes: (x, y, yaw, radius, turn) in m and rad.

    Boxes inside the known disc share the first disc.  Open boxes share one where they lie in the
    same square and sector (`settings.decision.same_place`).
    """
    cell = atlas.world.resolution
    side, sector = settings.decision.same_place
    boxes = remaining.boxes
    if len(boxes) == 0:
        return np.empty((0, 5))
    square = np.floor(boxes[:, :3] / [side / cell, side / cell, sector]).astype(np.int64)
    size = np.ptp(square, axis=0) + 1
    square -= square.min(axis=0)
    key = (square[:, 0] * size[1] + square[:, 1]) * size[2] + square[:, 2]
    key[: len(boxes) - remaining.open] = -1
    order = np.argsort(key, kind="stable")
    boxes, first = boxes[order], np.flatnonzero(np.diff(key[order], prepend=-2))
    count = np.diff(first, append=len(boxes))
    # Angles are counted from the first box of each disc, which no other is far from.
    start = np.repeat(boxes[first, 2], count)
    angle = start + wrap_angle(boxes[:, 2] - start)
    centres = np.add.reduceat(np.column_stack([boxes[:, :2], angle]), first) / count[:, None]
    of_box = np.repeat(centres, count, axis=0)
    gap = np.hypot(*(boxes[:, :2] - of_box[:, :2]).T) + np.sqrt(2.0) * boxes[:, 3]
    turn = np.abs(angle - of_box[:, 2]) + boxes[:, 4]
    radii = np.maximum.reduceat(gap, first) * cell
    return np.column_stack([atlas.from_cells(centres), radii, np.maximum.reduceat(turn, first)])
