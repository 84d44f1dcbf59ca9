"""What is certain about an answer: the regions that hold every pose that could explain the scan.

The search is complete (`branch_and_bound`): nothing in the map is left out, whatever the
descriptors say.  What it rests on is said in `Proof.premise`, and nothing else is assumed.
"""

from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import AnyScan, Atlas, PlaneAtlas, max_intensity_rating
from isovist.errors import InputError
from isovist.localization.answer import Answer, Proof, Verdict
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.branch_and_bound import RemainingBoxes, search_pose_boxes
from isovist.poses import wrap_angle

IN_SPACE = "A proof is for maps of the plane; this atlas is in space."


@dataclass(frozen=True, slots=True, eq=False)
class ProofResult:
    """A proof, and the places outside the answer's neighbourhood that are worth a fit."""

    proof: Proof
    places: FloatArray


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
        atlas: The map, described; of the plane.
        scan: What the sensor saw.
        answer: That is to be proved; it must have an estimate.
        region: Where the robot may be: the proof is of places in it.
        settings: It was found with.
        limits: Of the search.
    """
    if not isinstance(atlas, PlaneAtlas):
        raise InputError(IN_SPACE, code="wrong_dimension", field="prove")
    start = perf_counter()
    assert answer.best is not None
    mount = scan.T_level_robot
    sensor = np.asarray((answer.best.pose @ mount.inverse).vector)
    beams = atlas.beams(scan, settings.beams[1], settings.block)
    if beams.sigmas.size:
        raise InputError(
            "A proof knows one σ for all beams, and this scan has `sigmas`. Leave them out, or do "
            "not ask for a proof.",
            code="conflict",
            field="prove",
        )
    # Ceilings are of ranges; what intensities can add on top of them lowers the floor.
    shining = max_intensity_rating(settings.model) if beams.strengths.size else 0.0
    floor = answer.best.score - settings.refuted[1] - shining
    unit = atlas.world.resolution
    near, turn = settings.same
    at = atlas.to_cells(sensor[None])[0]
    found = search_pose_boxes(
        atlas, beams, atlas.model(settings.model), floor, limits,
        known=np.array([*at, near / unit, turn]), seconds=limits.seconds,
    )  # fmt: skip
    if region is not None:
        found = _allowed(atlas, scan, found, region)
    discs = _regions(atlas, found, settings)
    lever = float(np.hypot(mount.x, mount.y))
    robots = (atlas.lift(discs[:, :3]) @ mount).vector
    wide = discs[:, 3] + 2.0 * lever * np.sin(0.5 * np.minimum(discs[:, 4], np.pi))
    premise = (
        f"The robot is in free space of the map{'' if region is None else ' and of the region'}, "
        f"and its {len(beams)} beams are worth at least "
        f"{floor:.2f} nats on average there by the sensor model, {settings.refuted[1]:g} less than "
        f"at the best place, where {answer.best.inliers:.0%} of them end within "
        f"{3.0 * atlas.model(settings.model)[0]:.2f} m of a wall in view."
    )
    proof = Proof(
        premise=premise,
        floor=float(floor),
        complete=found.complete,
        unique=found.complete and found.open == 0 and answer.verdict is Verdict.UNIQUE,
        regions=readonly(np.column_stack([robots, wide, discs[:, 4]])),
        lookups=found.lookups + found.wedges,
        seconds=perf_counter() - start,
    )
    elsewhere = found.boxes[len(found.boxes) - found.open :]
    best = elsewhere[np.argsort(-elsewhere[:, 5], kind="stable")][:, :3]
    places = atlas.from_cells(best)
    chosen = distinct_indices(places, *settings.apart[1], settings.seeds[1])
    return ProofResult(proof, places[chosen])


def _allowed(
    atlas: PlaneAtlas, scan: AnyScan, found: RemainingBoxes, region: Region
) -> RemainingBoxes:
    """Those boxes from some pose of which the robot is in the region."""
    robots = (atlas.lift(atlas.from_cells(found.boxes[:, :3])) @ scan.T_level_robot).vector
    half, turn = found.boxes[:, 3:5].max(axis=0, initial=0.0)
    lever = float(np.hypot(scan.T_level_robot.x, scan.T_level_robot.y))
    margin = np.sqrt(2.0) * half * atlas.world.resolution + lever * turn
    held = region.holds(robots, margin, float(turn))
    boxes = found.boxes[held]
    return replace(found, boxes=boxes, open=int(held[len(held) - found.open :].sum()))


def _regions(
    atlas: PlaneAtlas, found: RemainingBoxes, settings: LocalizationSettings
) -> FloatArray:
    """Discs of poses of the sensor that hold all boxes: (x, y, yaw, radius, turn), in m and rad.

    Boxes in the place that is known share the first disc; those elsewhere share one where they
    lie in the same square of 0.5 m and sector of 10°.
    """
    unit = atlas.world.resolution
    near, turned = settings.same
    boxes = found.boxes
    if len(boxes) == 0:
        return np.empty((0, 5))
    square = np.floor(boxes[:, :3] / [near / unit, near / unit, turned]).astype(np.int64)
    size = np.ptp(square, axis=0) + 1
    square -= square.min(axis=0)
    key = (square[:, 0] * size[1] + square[:, 1]) * size[2] + square[:, 2]
    key[: len(boxes) - found.open] = -1
    order = np.argsort(key, kind="stable")
    boxes, first = boxes[order], np.flatnonzero(np.diff(key[order], prepend=-2))
    count = np.diff(first, append=len(boxes))
    # Angles are counted from that of the first box of each disc, from which none is far.
    start = np.repeat(boxes[first, 2], count)
    angle = start + wrap_angle(boxes[:, 2] - start)
    centres = np.add.reduceat(np.column_stack([boxes[:, :2], angle]), first) / count[:, None]
    of_box = np.repeat(centres, count, axis=0)
    gap = np.hypot(*(boxes[:, :2] - of_box[:, :2]).T) + np.sqrt(2.0) * boxes[:, 3]
    turn = np.abs(angle - of_box[:, 2]) + boxes[:, 4]
    most = [np.maximum.reduceat(gap, first) * unit, np.maximum.reduceat(turn, first)]
    return np.column_stack([atlas.from_cells(centres), *most])
