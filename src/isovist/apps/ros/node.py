"""A node that publishes the pose of the robot, on any message bus.

Scans and odometry feed a `Tracker`; a scan waits until odometry for its time arrives. Without
odometry, and on 3D maps, every scan is located by itself. Published stamps are those of the scan.
A bad input is reported in the verdict and never ends the node.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Bus, Topic
from isovist.apps.ros.map_frames import UNKNOWN_MAP
from isovist.apps.ros.odometry_buffer import LiveFrames, Odometry
from isovist.apps.ros.parameters import Parameters
from isovist.apps.ros.preparation import log_quarters, map_digest, warm_up
from isovist.apps.ros.publisher import InputReason, Publisher
from isovist.apps.ros.settings import NODE
from isovist.atlas.build import build
from isovist.errors import InputError, IsovistError
from isovist.io import (
    LASER_SCAN,
    ODOMETRY,
    POINT_CLOUD,
    cloud_of,
    frame_name,
    mounting_of,
    read_links,
    scan_of,
    time_of,
)
from isovist.localization import (
    ATTITUDE_NEEDS_3D,
    Answer,
    AnyMaps,
    AnyRegion,
    Region,
    Verdict,
    search_space_of,
)
from isovist.localization.locate import locate
from isovist.maps import OccupancyMap
from isovist.poses import AnyPose, Pose
from isovist.tracking import Belief, Tracker

NEEDS_3D = "`any_attitude` is for 3D maps, and a map on a topic is 2D. Give a 3D atlas."
log = logging.getLogger("isovist.ros")


class Node(Publisher):
    """A ROS node that turns scans and odometry into poses and verdicts.

    Attributes:
        scans: Number of scans that were answered.
        dropped: Number of scans that were dropped, since too many waited or they came late.
        last: The last answer, or `None`.
        text: The last verdict in words.
        published: Number of poses published on `/initialpose`.
    """

    def __init__(self, bus: Bus, parameters: Parameters, atlas: AnyMaps | None = None) -> None:
        """Subscribe and advertise on a bus.

        Args:
            bus: The message bus.
            parameters: Topics, frames and outputs.
            atlas: The atlas, or several by name; then the map topic selects one.  `None` waits for
                a map on that topic.
        """
        if parameters.any_attitude and (atlas is None or search_space_of(atlas).dimension == 2):
            raise InputError(
                NEEDS_3D if atlas is None else ATTITUDE_NEEDS_3D,
                code="wrong_dimension",
                field="map",
            )
        super().__init__(bus, parameters)
        self.frames, self.odometry = LiveFrames("/tf"), Odometry()
        self.scans = 0
        self._robots: set[str] = set()
        self._moving: dict[str, Odometry] = {}
        self._mount: tuple[tuple[int, str, str], AnyPose, bool] = ((-1, "", ""), Pose(), False)
        self._waiting: deque[Any] = deque()
        self._last_stamp = -np.inf
        self._map_digest = ""
        self._links = read_links(parameters.links) if parameters.links else ()
        self._atlas: AnyMaps | None = None
        self._tracker: Tracker | None = None
        self._prior: AnyRegion = None
        if atlas is not None:
            self._use_atlas(atlas)
        if atlas is None or self.map_frames.has_several:
            bus.subscribe(Topic(parameters.map, messages.MAP, latched=True, depth=1), self.on_map)
        self._is_2d = atlas is None or search_space_of(atlas).dimension == 2
        kind = LASER_SCAN if self._is_2d else POINT_CLOUD
        bus.subscribe(Topic(parameters.scan, kind, reliable=False), self.on_scan)
        if parameters.odom not in ("", "tf"):
            bus.subscribe(Topic(parameters.odom, ODOMETRY, depth=50), self.on_odometry)
        for name, latched in (("/tf", False), ("/tf_static", True)):
            topic = Topic(name, messages.TRANSFORM, latched=latched, depth=100)
            bus.subscribe(topic, self.on_transforms)
        bus.subscribe(Topic("/initialpose", messages.POSE, depth=1), self.on_prior)
        if parameters.watch:
            bus.subscribe(Topic(parameters.watch, messages.POSE), self.on_other)
        bus.serve("/isovist/relocalize", self.relocalize)
        for name in (kind, ODOMETRY, messages.MAP, *(t.kind for t in self.outputs.values())):
            messages.prepare(name)

    def on_map(self, message: Any) -> None:
        """Build the atlas of a received map, or find which of several maps was loaded.

        A map that was received before is ignored.
        """
        try:
            world = messages.map_of(message)
            if self.map_frames.has_several:
                self._identify_map(world)
                return
            digest = map_digest(world)
            if digest == self._map_digest:
                return
            log.info("building the atlas of a map of %d × %d cells", *world.cells.shape)
            atlas = build(world, progress=log_quarters())
        except IsovistError as error:
            words = f"The map cannot be used: {error}"
            self._refuse(time_of(message.header), InputReason.MAP_REFUSED, words)
            return
        self._map_digest = digest
        self._use_atlas(atlas)
        log.info("the map is ready: %.0f m² of floor", atlas.area)

    def on_odometry(self, message: Any) -> None:
        """Store a pose of the robot in the odometry frame."""
        try:
            at = message.pose.pose
            pose = messages.transform_of(at.position, at.orientation).flat
        except InputError as error:
            self._note = f"Odometry is left out: {error}"
            return
        self._odom_frame = frame_name(message.header.frame_id) or self.parameters.odom_frame
        self._robots = {frame_name(message.child_frame_id)} - {""}
        self._after_odometry(self.odometry.add(time_of(message.header), pose))

    def on_transforms(self, message: Any) -> None:
        """Store transforms; with odometry from tf, also the pose of the robot."""
        self.frames.add(message)
        if self.parameters.odom != "tf":
            return
        for link in message.transforms:
            parent = frame_name(link.header.frame_id)
            if parent == self.parameters.odom_frame:
                try:
                    at = link.transform
                    pose = messages.transform_of(at.translation, at.rotation).flat
                except InputError as error:
                    self._note = f"Odometry is left out: {error}"
                    continue
                child = frame_name(link.child_frame_id)
                buffer = self._moving.setdefault(child, Odometry())
                is_forward = buffer.add(time_of(link.header), pose)
                if child in self._robots:
                    self._after_odometry(is_forward)

    def on_scan(self, message: Any) -> None:
        """Answer a scan now, or as soon as its odometry arrives."""
        sensor = frame_name(message.header.frame_id)
        if self.parameters.odom == "tf" and not self._robots:
            robot = self.frames.below(self.parameters.odom_frame, sensor)
            if robot:
                self._robots, self.odometry = {robot}, self._moving[robot]
        self._waiting.append(message)
        while len(self._waiting) > NODE.max_waiting_scans:
            self._waiting.popleft()
            self.dropped += 1
        self._answer_waiting()

    def on_prior(self, message: Any) -> None:
        """Restart the search near a pose that a user set; ignore poses from this node."""
        if messages.encode(messages.POSE, message) == self._own:
            return
        try:
            pose, covariance, name = self.map_frames.pose_of(message)
        except InputError as error:
            self._note = f"A pose on /initialpose is left out: {error}"
            return
        radius = max(
            NODE.min_prior_radius_m,
            3.0 * float(np.sqrt(np.linalg.eigvalsh(covariance[:2, :2])[-1])),
        )
        tolerance = max(
            NODE.min_prior_tolerance_rad, 3.0 * float(np.sqrt(max(covariance[2, 2], 0.0)))
        )
        region = Region.circle(pose.position, radius)
        if not self.parameters.any_attitude:  # in which a heading means nothing
            region = region.towards(pose.yaw, min(tolerance, np.pi))
        self._prior = region if name is None else {name: region}
        if self._tracker is not None:
            self._tracker.reset(self._prior)
        self._last_pose = None

    def on_other(self, message: Any) -> None:
        """Store a pose of another system, to check it against the next scan."""
        try:
            pose = self.map_frames.pose_of(message)
        except InputError as error:
            self._note = f"A pose on {self.parameters.watch} is left out: {error}"
            return
        self.watchdog.store(time_of(message.header), *pose)

    def relocalize(self) -> tuple[bool, str]:
        """Forget the pose of the robot, so that the next unique pose is published again."""
        self._last_pose = self._prior = None
        if self._tracker is None and (missing := self._missing(needs_odometry=False)) is not None:
            return False, missing[1]
        if self._tracker is not None:
            self._tracker.reset()
        return True, "The pose is forgotten; the next scan is searched on the whole map."

    def _use_atlas(self, atlas: AnyMaps) -> None:
        """Switch to other maps, with an unknown pose."""
        if atlas is not self._atlas:
            self.map_frames.set_maps(atlas)
            warm_up(atlas)
        self._atlas, self._last_pose = atlas, None
        is_tracked = search_space_of(atlas).dimension == 2 and self.parameters.odom != ""
        self._tracker = (
            Tracker(atlas, links=self._links, region=self._prior) if is_tracked else None
        )
        self._answer_waiting()

    def _identify_map(self, world: OccupancyMap) -> None:
        """Find which of several maps is loaded; the next unique pose is published in its frame."""
        if self.map_frames.identify(world):
            self._last_pose = None
            log.info("the loaded map: %s", self.map_frames.name or "none of the given ones")
        if self.map_frames.name is None:
            self._note = UNKNOWN_MAP.format(self.parameters.map)

    def _after_odometry(self, is_forward: bool) -> None:
        if not is_forward:
            self._restart("The clock of the odometry went back")
        self._answer_waiting()

    def _restart(self, reason: str) -> None:
        """Forget the drive, since a clock jumped back."""
        self._note = f"{reason}, so the drive before is forgotten."
        log.warning(self._note)
        self._last_stamp, self._last_pose = -np.inf, None
        if self._atlas is not None:
            self._use_atlas(self._atlas)

    def _missing(self, needs_odometry: bool) -> tuple[InputReason, str] | None:
        """Return the input that is missing to answer a scan, as a code and in words."""
        if self._atlas is None:
            text = f"No map has arrived yet on {self.parameters.map}."
            return InputReason.NO_MAP, text
        if needs_odometry and not self.odometry.times:
            return (
                InputReason.NO_ODOMETRY,
                f"No odometry has arrived yet on {self.parameters.odom}.",
            )
        return None

    def _answer_waiting(self) -> None:
        """Answer the scans whose odometry has arrived, or that have waited for too long."""
        needs_odometry = self.parameters.odom != "" and (
            self._atlas is None or self._tracker is not None
        )
        while self._waiting:
            message = self._waiting[0]
            time = time_of(message.header)
            missing = self._missing(needs_odometry)
            if missing is not None:
                last = self._waiting.pop()
                self._waiting.clear()
                self._waiting.append(last)
                self._refuse(time_of(last.header), *missing)
                return
            if (
                needs_odometry
                and not self.odometry.covers(time)
                and len(self._waiting) < NODE.max_scans_without_odometry
            ):
                return
            back = self._last_stamp - time
            if back > NODE.max_odometry_gap_s:
                self._restart("The clock of the scans went back")
                return
            self._waiting.popleft()
            if back > 0.0:
                self._note = f"A scan is left out: it is stamped {back:.3f} s before the last."
                self.dropped += 1
                continue
            self._last_stamp = time
            self.scans += 1
            try:
                self._answer(message, time)
            except IsovistError as error:
                self._refuse(time, InputReason.SCAN_REFUSED, str(error))

    def _answer(self, message: Any, time: float) -> None:
        assert self._atlas is not None
        make: Callable[[Path, Any], Any] = scan_of if self._is_2d else cloud_of
        scan = make(Path(self.parameters.scan), message)
        if scan is None:
            words = "The scan has no valid beam. Is the sensor covered?"
            self._refuse(time, InputReason.SCAN_BLIND, words)
            return
        scan = self._with_mount(scan, frame_name(message.header.frame_id))
        if self._tracker is None:
            any_attitude = self.parameters.any_attitude
            answer = locate(self._atlas, scan, region=self._prior, any_attitude=any_attitude)
            self._last_pose = self._last_pose if answer.verdict is not Verdict.LOST else None
            self._after_answer(time, answer, Pose())
            return
        odometry = self.odometry.at(time)
        if odometry is None:
            words = "The times of odometry and scan differ too much."
            self._refuse(time, InputReason.ODOMETRY_STALE, words)
            return
        belief = self._tracker.update(odometry, scan, time=time)
        if belief.best is None:  # otherwise the tracker would search again only after a metre
            self._tracker.reset(self._prior)
        if self.parameters.watch:
            self.watchdog.check_scan(self._atlas, time, scan, self.odometry.at)
        self._after_answer(time, belief, odometry)

    def _after_answer(self, time: float, answer: Belief | Answer, odometry: Pose) -> None:
        if answer.verdict is Verdict.UNIQUE:
            self._prior = None  # it was of the place where somebody clicked
        self._publish_answer(time, answer, odometry)

    def _with_mount(self, scan: Any, sensor: str) -> Any:
        """Return the scan with the pose of its sensor on the robot."""
        mount, robot = self.parameters.sensor, next(iter(self._robots), "")
        if mount is not None:
            return replace(scan, T_robot_sensor=mount, frame=robot or "robot")
        if not robot or sensor in ("", robot):
            return replace(scan, frame=robot or sensor)
        key = self.frames.changes, robot, sensor
        if self._mount[0] != key:
            T = self.frames.T(robot, sensor)
            self._mount = key, *(mounting_of("/tf", sensor, T) if self._is_2d else (T, False))
        _, T_robot_sensor, is_flipped = self._mount
        scan = scan.mirrored() if is_flipped else scan
        return replace(scan, T_robot_sensor=T_robot_sensor, frame=robot)
