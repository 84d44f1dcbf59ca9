"""A node that says where the robot is, whatever carries its messages.

Scans and odometry feed a `Tracker`; a scan waits until odometry of its time has come.  Without
odometry, and on maps in space, every scan is located alone.  Stamps of what is published are those
of the scan.  What is wrong with an input is said in the verdict, in words; nothing of it ends the
node.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bus import Bus, Topic
from isovist.apps.ros.map_frames import STRANGER
from isovist.apps.ros.odometry_buffer import STALE, LiveFrames, Odometry
from isovist.apps.ros.parameters import Parameters
from isovist.apps.ros.preparation import digest_of, in_quarters, rehearse
from isovist.apps.ros.publisher import InputReason, Telling
from isovist.atlas.build import build
from isovist.errors import InputError, IsovistError
from isovist.io.bags import LASER_SCAN, ODOMETRY, POINT_CLOUD, scan_of, time_of
from isovist.io.links import read_links
from isovist.io.logs.frames import frame_name, mounting_of
from isovist.io.point_cloud2 import cloud_of
from isovist.localization.answer import Answer, Verdict
from isovist.localization.attitudes import FLAT
from isovist.localization.locate import locate
from isovist.localization.maps import AnyMaps, AnyRegion, site_of
from isovist.localization.region import Region
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import AnyPose, Pose
from isovist.tracking.belief import Belief
from isovist.tracking.tracker import Tracker

WAITING = 200
"""Scans that wait for odometry at most: 10 s at 20 Hz."""
OVERTAKEN = 3
"""A scan is answered with the odometry there is when so many wait."""
PRIOR = (1.0, 0.5)
"""Least radius and tolerance of a prior from `/initialpose`, in m and rad: a click is rough."""
NO_SPACE = (
    "`any_attitude` is for maps in space, and a map on a topic is of the plane. Give an atlas in "
    "space."
)
log = logging.getLogger("isovist.ros")


class Node(Telling):
    """ROS node that takes scans, odometry, tf, maps and priors, and publishes poses and verdicts.

    Attributes:
        scans: Number of scans that were answered.
        dropped: Number of scans dropped because too many waited or they came late.
        last: The last answer, if any.
        said: The last verdict in words.
        published: Number of poses published on `/initialpose`.
    """

    def __init__(self, bus: Bus, parameters: Parameters, atlas: AnyMaps | None = None) -> None:
        """Subscribe and advertise on a bus.

        Args:
            bus: Carries the messages.
            parameters: Topics, frames and what is published.
            atlas: The map, described, or several by name, of which the topic of the map tells
                which is loaded; `None` waits for one on that topic.
        """
        if parameters.any_attitude and (atlas is None or site_of(atlas).dimension == 2):
            raise InputError(
                NO_SPACE if atlas is None else FLAT, code="wrong_dimension", field="map"
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
            self._take(atlas)
        if atlas is None or self.loaded.several:
            bus.subscribe(Topic(parameters.map, messages.MAP, latched=True, depth=1), self.on_map)
        cloud = atlas is not None and site_of(atlas).dimension == 3
        self._flat = not cloud
        kind = POINT_CLOUD if cloud else LASER_SCAN
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
        for ready in (kind, ODOMETRY, messages.MAP, *(t.kind for t in self.outputs.values())):
            messages.prepare(ready)

    def on_map(self, message: Any) -> None:
        """Build the atlas of a received map, or find which of several maps is loaded.

        A map that was received before changes nothing.
        """
        try:
            world = messages.map_of(message)
            if self.loaded.several:
                self._load(world)
                return
            digest = digest_of(world)
            if digest == self._map_digest:
                return
            log.info("describing a map of %d × %d cells", *world.cells.shape)
            atlas = build(world, progress=in_quarters())
        except IsovistError as error:
            words = f"The map cannot be used: {error}"
            self._refuse(time_of(message.header), InputReason.MAP_REFUSED, words)
            return
        self._map_digest = digest
        self._take(atlas)
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
        self._moved(self.odometry.add(time_of(message.header), pose))

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
                known = self._moving.setdefault(child, Odometry())
                forward = known.add(time_of(link.header), pose)
                if child in self._robots:
                    self._moved(forward)

    def on_scan(self, message: Any) -> None:
        """Answer a scan now, or when its odometry arrives."""
        sensor = frame_name(message.header.frame_id)
        if self.parameters.odom == "tf" and not self._robots:
            robot = self.frames.below(self.parameters.odom_frame, sensor)
            if robot:
                self._robots, self.odometry = {robot}, self._moving[robot]
        self._waiting.append(message)
        while len(self._waiting) > WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._answer_waiting()

    def on_prior(self, message: Any) -> None:
        """Restart the search near a pose that a user set; ignore poses that this node published."""
        if messages.encode(messages.POSE, message) == self._own:
            return
        try:
            pose, covariance, name = self.loaded.pose_of(message)
        except InputError as error:
            self._note = f"A pose on /initialpose is left out: {error}"
            return
        radius = max(PRIOR[0], 3.0 * float(np.sqrt(np.linalg.eigvalsh(covariance[:2, :2])[-1])))
        turn = max(PRIOR[1], 3.0 * float(np.sqrt(max(covariance[2, 2], 0.0))))
        region = Region.circle(pose.position, radius)
        if not self.parameters.any_attitude:  # where a heading says nothing
            region = region.towards(pose.yaw, min(turn, np.pi))
        self._prior = region if name is None else {name: region}
        if self._tracker is not None:
            self._tracker.reset(self._prior)
        self._told = None

    def on_other(self, message: Any) -> None:
        """Store a pose of another system, to check it against the next scan."""
        try:
            claim = self.loaded.pose_of(message)
        except InputError as error:
            self._note = f"A pose on {self.parameters.watch} is left out: {error}"
            return
        self.watchdog.heard(time_of(message.header), *claim)

    def relocalize(self) -> tuple[bool, str]:
        """Forget the pose of the robot, so that the next unique pose is published again."""
        self._told = self._prior = None
        if self._tracker is None and (missing := self._missing(needs=False)) is not None:
            return False, missing[1]
        if self._tracker is not None:
            self._tracker.reset()
        return True, "Everything is forgotten; the next scan is searched everywhere."

    def _take(self, atlas: AnyMaps) -> None:
        """Go on with another map, or others, from an unknown place."""
        if atlas is not self._atlas:
            self.loaded.take(atlas)
            rehearse(atlas)
        self._atlas, self._told = atlas, None
        tracked = site_of(atlas).dimension == 2 and self.parameters.odom != ""
        made = partial(Tracker, atlas, links=self._links, region=self._prior)
        self._tracker = made() if tracked else None
        self._answer_waiting()

    def _load(self, world: OccupancyMap) -> None:
        """Hear which of several maps is loaded; the next unique pose is told in its frame."""
        if self.loaded.heard(world):
            self._told = None
            log.info("the map that is loaded: %s", self.loaded.name or "none of those given")
        if self.loaded.name is None:
            self._note = STRANGER.format(self.parameters.map)

    def _moved(self, forward: bool) -> None:
        if not forward:
            self._restart("The clock of the odometry went back")
        self._answer_waiting()

    def _restart(self, why: str) -> None:
        """A clock went back: what was seen before belongs to another drive."""
        self._note = f"{why}, so everything before is forgotten."
        log.warning(self._note)
        self._last_stamp, self._told = -np.inf, None
        if self._atlas is not None:
            self._take(self._atlas)

    def _missing(self, needs: bool) -> tuple[InputReason, str] | None:
        """What no scan can be answered without, as a code and in words."""
        if self._atlas is None:
            awaited = f"There is no map yet; one is awaited on {self.parameters.map}."
            return InputReason.NO_MAP, awaited
        if needs and not self.odometry.times:
            return InputReason.NO_ODOMETRY, f"No odometry has come yet on {self.parameters.odom}."
        return None

    def _answer_waiting(self) -> None:
        """Answer the scans whose odometry has come, or that a later one has overtaken."""
        needs = self.parameters.odom != "" and (self._atlas is None or self._tracker is not None)
        while self._waiting:
            message = self._waiting[0]
            time = time_of(message.header)
            missing = self._missing(needs)
            if missing is not None:
                last = self._waiting.pop()
                self._waiting.clear()
                self._waiting.append(last)
                self._refuse(time_of(last.header), *missing)
                return
            if needs and not self.odometry.covers(time) and len(self._waiting) < OVERTAKEN:
                return
            back = self._last_stamp - time
            if back > STALE:
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
        make: Callable[[Path, Any], Any] = scan_of if self._flat else cloud_of
        seen = make(Path(self.parameters.scan), message)
        if seen is None:
            words = "The scan has no valid beam. Is the sensor covered?"
            self._refuse(time, InputReason.SCAN_BLIND, words)
            return
        scan = self._placed(seen, frame_name(message.header.frame_id))
        if self._tracker is None:
            turned = self.parameters.any_attitude
            answer = locate(self._atlas, scan, region=self._prior, any_attitude=turned)
            self._told = self._told if answer.verdict is not Verdict.LOST else None
            self._answered(time, answer, Pose())
            return
        odometry = self.odometry.at(time)
        if odometry is None:
            words = "The odometry is of another time than the scan."
            self._refuse(time, InputReason.ODOMETRY_STALE, words)
            return
        belief = self._tracker.update(odometry, scan, time=time)
        if belief.best is None:  # a tracker that found nothing would search only after a metre
            self._tracker.reset(self._prior)
        if self.parameters.watch:
            self.watchdog.look(self._atlas, time, scan, self.odometry.at)
        self._answered(time, belief, odometry)

    def _answered(self, time: float, told: Belief | Answer, odometry: Pose) -> None:
        if told.verdict is Verdict.UNIQUE:
            self._prior = None  # it was of the place where somebody clicked
        self._tell(time, told, odometry)

    def _placed(self, scan: Any, sensor: str) -> Any:
        """The scan with the place of its sensor on the robot."""
        place, robot = self.parameters.sensor, next(iter(self._robots), "")
        if place is not None:
            return replace(scan, T_robot_sensor=place, frame=robot or "robot")
        if not robot or sensor in ("", robot):
            return replace(scan, frame=robot or sensor)
        asked = self.frames.changes, robot, sensor
        if self._mount[0] != asked:
            T = self.frames.T(robot, sensor)
            flat = mounting_of("/tf", sensor, T) if self._flat else (T, False)
            self._mount = asked, *flat
        _, mount, flipped = self._mount
        return replace(scan.mirrored() if flipped else scan, T_robot_sensor=mount, frame=robot)
