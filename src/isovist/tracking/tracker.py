"""A belief about where a moving robot is, from an unknown start.

The bank holds every place that may be right.  At each update odometry carries them along, the scan
corrects them and rates them; while rivals remain, the map is searched anew every metre, and what is
found is walked back along the way driven so far (`bank`).  Places that the way refutes are dropped.
When the scan suddenly no longer fits the one place left, the robot may have been carried away: what
was seen before is forgotten and the search begins again.  A scan that sees next to nothing is left
out, and odometry alone carries the places on.  In space a robot may be in any attitude
(`attitude`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from isovist.arrays import BoolArray, FloatArray, readonly
from isovist.atlas import AnyScan, Atlas, Beams
from isovist.errors import InputError
from isovist.localization import (
    AnyMaps,
    AnyRegion,
    Estimate,
    Facts,
    LocalizationSettings,
    Reason,
    SearchRegion,
    Verdict,
    apply_rules,
    as_level_robot,
    check_attitude,
    region_around,
    search_region,
    search_space_of,
    to_robot_frame,
)
from isovist.poses import AnyPose, Pose
from isovist.renamed import accept_old_names, moved
from isovist.sensing import Drift, Scan, StationaryScans
from isovist.settings import checked_settings
from isovist.tracking.attitude import followed, levelled, tilt_by, ups_by
from isovist.tracking.bank import PER_PLACE, Bank, Frame
from isovist.tracking.belief import RULES, Belief, Evidence, facts_of, is_loose, loosest, sees
from isovist.tracking.finding import Finder
from isovist.tracking.gramian import least_needed
from isovist.tracking.links import Link, check_links, cross
from isovist.tracking.moving import Moving
from isovist.tracking.settings import ON_THE_WAY, TrackingSettings
from isovist.tracking.state import from_state, to_state
from isovist.tracking.window import settle

DOUBTED = 2.0
"""A scan that falls below the usual by so many times the margin of `judge` is held against what a
search finds: where the robot is would then be well ahead.  One update in 12 on intel, one in 5 on
fr079."""


@accept_old_names
class Tracker(Moving):
    """Follows a robot on a map, from an unknown start, through kidnappings.

    Attributes:
        bank: The places that may be right, best first.
        travelled: Way by odometry, in m.

    Args:
        space: The map, described (`build`), or several by name.
        links: Lifts and doors between several maps.
        region: Where the robot may be at the first scan, e.g. at its dock; anywhere when `None`.
            Of several maps, regions by name.
        drift: How far odometry can be trusted.
        settings: How it is followed.
        localization: How places are found, fitted and rated; `ON_THE_WAY` when `None`.
        tilt: In space, fit roll and pitch too, where neither scan nor odometry knows them; they are
            in any case where the ground of the first scan is not level.
        any_attitude: In space, nobody knows which way is up: at the start, and after the robot was
            carried away, it is sought in any attitude, and roll and pitch are fitted from then on.
            What a scan tells of them is not believed, nor which way up is in the frame of the
            odometry, which is Pose3 or `None`; a region may tell a place, not a heading.
    """

    def __init__(
        self,
        space: AnyMaps,
        *,
        links: Sequence[Link] = (),
        region: AnyRegion = None,
        drift: Drift | None = None,
        settings: TrackingSettings | None = None,
        localization: LocalizationSettings | None = None,
        tilt: bool = False,
        any_attitude: bool = False,
    ) -> None:
        if not isinstance(space, Atlas | Mapping):
            raise InputError(
                f"A tracker needs an atlas, got {type(space).__name__}. "
                "Build one of the map: Tracker(build(world)).",
                field="space",
            )
        site = search_space_of(space)
        site.fitted(tilt)
        followed_by = checked_settings(TrackingSettings, settings)
        super().__init__(site, drift, followed_by, any_attitude)
        self.tilt = tilt or any_attitude
        self.links = check_links(site, links)
        self.localization = checked_settings(LocalizationSettings, localization, ON_THE_WAY)
        self._finder = Finder(site, followed_by, self.localization)
        self.reset(region)

    @property
    def atlas(self) -> Atlas:
        """The map, where there is one."""
        if not isinstance(self.site, Atlas):
            raise InputError(
                "This tracker has several maps, and one is needed.", code="conflict", field="atlas"
            )
        return self.site

    @accept_old_names
    def reset(self, region: AnyRegion = None) -> None:
        """Forget everything but how far the robot has driven.

        Args:
            region: Where it may be at the next scan; anywhere when `None`.
        """
        held_to = search_region(self.site, region)
        if self.any_attitude:
            check_attitude(self.site, held_to, ())
        self._region = held_to
        self.bank = Bank(
            self.site, self.drift, self.settings, self.localization,
            tilt=self.tilt, any_attitude=self.any_attitude,
        )  # fmt: skip
        self._start = None
        self._first: AnyPose | None = None
        self._searched = -np.inf
        self._settled = False
        self._usual = 0.0
        self._surprises = 0
        self._shaken = False
        self._leads_since = np.inf
        self._last: Belief | None = None
        self._stand: StationaryScans | None = None

    def state(self) -> dict[str, Any]:
        """Everything it knows, ready for JSON: `from_state` goes on from there."""
        return to_state(self)

    @classmethod
    def from_state(cls, atlas: AnyMaps, state: dict[str, Any]) -> "Tracker":
        """The tracker that `state` was asked of, on the same atlas or the same maps."""
        return from_state(cls, atlas, state)

    def update(
        self, odometry: AnyPose | None, scan: AnyScan, *, time: float | None = None
    ) -> Belief:
        """Move by what odometry says, look, and judge.

        Args:
            odometry: T_odom_robot in any fixed frame; only its changes count.  `None` where there
                is none, at every update: then the robot is taken to go on at an even pace, and the
                scans correct that.
            scan: What the sensor saw there.  In space its roll and pitch count, or those of
                odometry where it has none, or of its ground where that has none either; its
                `times`, if `time` is told, straighten it.
            time: When, in s since any moment; updates that do not say count as 1 s apart.
        """
        start = perf_counter()
        if not isinstance(scan, AnyScan):
            raise InputError(
                f"A tracker follows robots by scans, got {type(scan).__name__}.", field="scan"
            )
        self.site.check(scan)
        place = self._place(odometry)
        told, elapsed = time is not None and self._told is not None, self._elapsed(time)
        before, robot = self._odometry, None
        if place is None:
            place = self._expected(elapsed)
            robot = self._best_robot() if len(self.bank) else None
        seconds, aided = elapsed if told else None, odometry is not None
        seen, place, mount = self._stands(scan, place, seconds, aided)
        share = self._move(place, mount, elapsed)
        spent = 0.0
        held = seen.within(self.site.diagonal)
        if held is not None and sees(held, self.localization):
            looked = self._look(held, share if self._aided else 1.0)
            self._pace(robot, before, elapsed)
            self._first = self._first or self._sensor
            spent = self._seek(looked)
            self._pace(robot, before, elapsed)
            if cross(self.bank, self.site, self.links, self._mount, self.localization.same[0]):
                self._region = None  # places on other maps than it was of may be right
        if not self.bank.frames:
            belief = self._lost(Reason.SCAN_BLIND)
        else:
            belief = self._together(self._judge(self.bank.sort()))
        return self._say(belief, spent, start)

    def move(self, odometry: AnyPose, *, time: float | None = None) -> Belief:
        """Move by what odometry says, without a scan: places and their covariances go along.

        Args:
            odometry: T_odom_robot in any fixed frame; only its changes count.
            time: When, as in `update`.
        """
        start = perf_counter()
        if (place := self._place(odometry)) is None:
            raise InputError(
                "A tracker moves by odometry, got None. Update it with a scan.",
                code="missing",
                field="odometry",
            )
        self._move(place, self._mount, self._elapsed(time))
        last = self._last
        if last is None or len(self.bank) == 0:
            return self._lost(Reason.NO_SCAN)
        robots, spreads = self._robots(np.arange(len(last.estimates)))
        estimates = tuple(
            replace(estimate, pose=robots[k], covariance=readonly(spreads[k]))
            for k, estimate in enumerate(last.estimates)
        )
        belief = replace(last, estimates=estimates, travelled=self.travelled)
        if belief.verdict is Verdict.UNIQUE and is_loose(self.bank, self.localization):
            facts: Facts = {**belief.facts, "position_std": loosest(self.bank)}
            slides = (Reason.POSITION_SLIDES,)
            belief = replace(belief, verdict=Verdict.AMBIGUOUS, reasons=slides, facts=facts)
        return self._say(belief, 0.0, start)

    def _look(self, scan: AnyScan, share: float) -> AnyScan:
        """Correct the bank by a scan, or by all that were taken since the robot stands."""
        stand = self._stand
        if stand is not None and stand.add(self._sensor, scan, self.localization.floor):
            assert stand.merged is not None
            frame = Frame(self._beams(stand.merged), self._sensor, 1.0, time=self._clock)
            self.bank.look_again(frame, share)
            return stand.merged
        self._stand = StationaryScans.start(self._sensor, scan)
        beams = self._beams(scan)
        seen = self.localization.block[0] * len(beams.columns)  # a cloud has no ends
        weight = self._weight(scan.field_of_view if isinstance(scan, Scan) else seen)
        self.bank.look(Frame(beams, self._sensor, weight, time=self._clock), share)
        return scan

    def _lost(self, reason: Reason) -> Belief:
        """A belief without a place."""
        return Belief(Verdict.LOST, (reason,), (), 0.0, self.travelled)

    def _say(self, belief: Belief, searched: float, start: float) -> Belief:
        """The belief as it is told; as it was found, it is remembered."""
        timing = {"search": searched, "total": 1e3 * (perf_counter() - start)}
        self._last = replace(belief, timing_ms=timing)
        return self._last.told(self.site)

    def refine_start(self, accuracy: float = 0.1) -> Any:
        """Refine the pose of the first stored frame with all stored frames.

        Args:
            accuracy: Required standard deviation of the start, in m.

        Returns:
            T_world_robot at the first frame by the belief, and its `StartFit`. `None` while the
            least eigenvalue of the information is below `gramian.least_needed`.
        """
        if not isinstance(self._mount, Pose):
            raise InputError.about(
                "refine_start",
                "is for maps of the plane; this atlas is in space.",
                code="wrong_dimension",
            )
        if len(self.bank) == 0 or self.bank.gramian().least < least_needed(accuracy):
            return None
        refine = moved("isovist.paper.dynamic.start_fit", "refine_frames")
        return refine(self.atlas, self.bank, self._mount)

    def _beams(self, scan: AnyScan) -> Beams:
        """Twice as many as a first fit takes: places are compared by them."""
        most, apart = self.localization.beams[0]
        return self.site.beams(scan, (2 * most, apart / np.sqrt(2.0)), self.localization.block)

    def _seek(self, scan: AnyScan) -> float:
        """Search the map when it is time to; milliseconds spent."""
        start = perf_counter()
        doubted = self._settled and self._doubted()
        surprised = doubted and self._surprised()
        pause = self.settings.search_every[self._settled]
        if doubted or self.travelled - self._searched >= pause:
            self._searched = self.travelled
            # Who was carried away is not where the region said that it began.
            began = self._odometry == self._start and not surprised
            region = self._region if began else None
            lost = surprised or not self._settled
            found = self._find(scan, region, turned=lost, closer=lost or doubted)
            if doubted:
                margin = self.localization.refuted[1]
                before = self.bank.poses[:1].copy()
                lead = self._recapture(scan, found) if surprised else self._lead(found)
                jumped = not self.bank.alike(before, self.bank.poses[0])[0]
                self._shaken = lead < (margin if surprised else -margin)
                self._surprises = 0 if lead > -margin else self._surprises + 1
                if surprised or self._shaken:
                    self._stand = None
                # Across a jump, too, what was seen before says nothing of the other places.
                if self._surprises >= self.settings.surprise[0] or (jumped and self._shaken):
                    self._forget()
            if self.any_attitude and len(self.bank) == 0 and len(found[0]):
                found = self._begin(scan, *found)
            self.bank.add(*found)
            self._keep_to_region()
        if not doubted:
            self._shaken, self._surprises = False, 0
        return 1e3 * (perf_counter() - start)

    def _keep_to_region(self) -> None:
        """Drop places that, walked back to the start, begin outside the region."""
        if self._region is None or self._start is None or len(self.bank) == 0:
            return
        if self._first is None or self.bank.frames[0].T_odom_sensor != self._first:
            self._region = None  # the first frame is no longer kept: its places have been judged
            return
        # From the first frame to where odometry was when the region was said.
        back = self._first.inverse @ self._start
        begins = self.site.lift(self.bank.frames[0].places) @ back
        inside = self._region.holds(begins.vector, *self.localization.same)
        self.bank.select(np.flatnonzero(inside))

    def _surprised(self) -> bool:
        """Whether the last scan fits the best place much worse than usual, or far from the pace."""
        last = self.bank.frames[-1]
        astray = not self._aided and last.slips[0] >= self.localization.slip
        return bool(astray or last.scores[0] < self._least_score())

    def _doubted(self) -> bool:
        """Whether the last scan may fit another place better, or another did fit the one before.

        One that fits as well as scans usually do would lead by what the last one lacks.
        """
        last = float(self.bank.frames[-1].scores[0])
        lacks = last < self._usual - DOUBTED * self.localization.refuted[1]
        doubted = lacks or self._surprises > 0 or self._surprised()
        if not self._surprised():
            self._usual += self.settings.surprise[1] * (last - self._usual)
        return doubted

    def _lead(self, found: tuple[FloatArray, FloatArray]) -> float:
        """By how much the first place explains the last scan better than others, in nats a beam.

        It is taken from where a search found it, if it is much better there.  Of the others those
        count that explain the scan about as well as the usual one, as where the robot is would.
        """
        if len(found[0]) == 0:
            return np.inf
        bank, margin = self.bank, self.localization.refuted[1]
        frame = bank.frames[-1]
        said = frame.again()
        poses, spreads = bank.compare(said, *found, 1.0)
        here = bank.alike(poses, bank.poses[0])
        best = int(np.argmax(np.where(here, said.scores, -np.inf)))
        if here.any() and said.scores[best] > frame.scores[0] + margin:
            self._take(said, best, poses, spreads)
        apart = ~here & (said.scores >= self._usual - margin)
        return float(frame.scores[0] - said.scores[apart].max(initial=-np.inf))

    def _take(self, said: Frame, k: int, poses: FloatArray, spreads: FloatArray) -> None:
        """Have the first place where one of some poses is, which the last scan was compared at."""
        said.slips[k] = self.localization.slip
        self.bank.poses[0], self.bank.spreads[0] = poses[k], spreads[k]
        for name in PER_PLACE:
            getattr(self.bank.frames[-1], name)[0] = getattr(said, name)[k]

    def _least_score(self) -> float:
        """Mean rating below which a scan surprises, in nats: it would be lost, or fell as far."""
        poor = self.localization.poor[0]
        return max(poor, self._usual - poor)

    def _recapture(self, scan: AnyScan, found: tuple[FloatArray, FloatArray]) -> float:
        """Look around for the place, in case that odometry slipped, and take it up if it is good.

        Returns:
            By how much it explains the scan better than all other places, `found` ones too, in
            nats per beam; −∞ when nothing nearby explains it.
        """
        bank, frame = self.bank, self.bank.frames[-1]
        robot = self.site.lift(bank.poses[0]) @ scan.T_level_robot  # in any attitude a level one
        near, loose = self._find(scan, region_around(self.site, robot, *self.settings.slipped))
        if len(near) == 0:
            return -np.inf
        said = frame.again()
        poses = np.concatenate([near, found[0]])
        spreads = np.concatenate([loose, found[1]])
        poses, spreads = bank.compare(said, poses, spreads, 1.0)
        best = int(np.argmax(said.scores[: len(near)]))
        score = float(said.scores[best])
        apart = ~bank.alike(poses, poses[best])
        lead = score - float(said.scores[apart].max(initial=-np.inf))
        if score < self._least_score():
            return -np.inf
        if lead > -self.localization.refuted[1]:
            self._take(said, best, poses, spreads)
        return lead

    def _find(
        self,
        scan: AnyScan,
        region: SearchRegion = None,
        *,
        turned: bool = False,
        closer: bool = False,
    ) -> tuple[FloatArray, FloatArray]:
        """Places that explain one scan, as the bank wants them.

        `turned`, in any attitude, where the robot may be; `closer`, with a second look.
        """
        finder, settled = self._finder, self._settled
        if turned and self.any_attitude:
            return finder.find_turned(scan, self._mount, region, settled)[:2]
        return finder.find(scan, region, self.bank.tilt, settled, closer=closer)[:2]

    def _begin(
        self, scan: AnyScan, poses: FloatArray, spreads: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Have the last frame level by the first of the places just found, and these in it."""
        before, tilt = self._mount, tilt_by(self._mount)
        wanted = followed(tilt, ups_by(self.site, poses, before))
        seen, self._mount = levelled(as_level_robot(scan, tilt.inverse), wanted)
        places, spreads = to_robot_frame(self.site, before.inverse @ self._mount, poses, spreads)
        last, sensor = self.bank.frames.pop(), self._sensor
        assert self._odometry is not None  # as there is a frame
        self._sensor = self._odometry @ self._mount
        self._first = self._sensor if self._first == sensor else self._first
        self._stand = StationaryScans.start(self._sensor, seen)
        frame = Frame(self._beams(seen), self._sensor, last.weight, time=last.time)
        self.bank.look(frame, self.bank.share)
        return places.vector, spreads

    def _forget(self) -> None:
        """Drop all but the present scan: odometry cannot be trusted across the surprise."""
        del self.bank.frames[:-1]
        self.bank.frames[-1].weight = 1.0
        self._settled, self._leads_since, self._region = False, np.inf, None
        if self.any_attitude:  # what is found now has its own way up
            self.bank.select(np.empty(0, dtype=np.int64))

    def _judge(self, E: FloatArray) -> Belief:
        bank = self.bank
        if len(bank) == 0:
            return self._lost(Reason.NO_CANDIDATES)
        refuted, at_once = self.refutation(*bank.margins())
        score, inliers = bank.frames[-1].scores, bank.frames[-1].inliers
        out = np.append(False, refuted)
        self._leads_since = min(self._leads_since, self.travelled) if refuted.all() else np.inf
        lasting = self.travelled - self._leads_since >= self.settings.lasting
        behind, most = self.settings.gone
        keep = np.flatnonzero(~(out & (E[0] - E >= behind)))[:most]
        chances = np.exp(E - E[0])
        chances /= chances.sum()
        listed = keep[: self.localization.listed]
        robots, spreads = self._robots(listed)
        estimates = tuple(
            Estimate(robots[i], readonly(spreads[i]), float(chances[k]), float(inliers[k]),
                     float(score[k]), bool(out[k]))
            for i, k in enumerate(listed)
        )  # fmt: skip
        recent = float(np.mean([frame.scores[0] for frame in bank.frames[-3:]]))
        if not self._settled:
            recent = min(recent, float(score[0]))
        maps = self.site.names_of(bank.poses[~out])
        facts = facts_of(bank, int((~refuted).sum()), maps)
        is_new = not (self._settled or lasting or at_once.all())
        evidence = Evidence(facts, recent, self._shaken, is_new, self.localization)
        verdict, reasons = apply_rules(RULES, evidence)
        bank.select(keep)
        if verdict is Verdict.UNIQUE and not self._settled:
            self._settled, self._usual = True, float(score[0])
        least = bank.gramian().least
        return Belief(verdict, reasons, estimates, least, self.travelled, facts=facts)

    def _together(self, belief: Belief) -> Belief:
        """Unique after all, where the last frames, asked as one scan, refute what is left."""
        done = belief.verdict is not Verdict.AMBIGUOUS or self._settled
        done = done or is_loose(self.bank, self.localization)
        if done or self._searched != self.travelled or not settle(self.bank, self.refutation):
            return belief
        self.bank.select(np.zeros(1, dtype=np.int64))
        self._settled, self._usual = True, float(self.bank.frames[-1].scores[0])
        estimates = (replace(belief.estimates[0], probability=1.0),)
        return replace(
            belief,
            verdict=Verdict.UNIQUE,
            reasons=(Reason.RECENT_SCANS_DECIDE,),
            estimates=estimates,
        )

    def refutation(self, t: FloatArray, d: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Which places t and d of `bank` (2) refute, and which of them at once."""
        explained = float(np.mean([frame.inliers[0] for frame in self.bank.frames]))
        clear = (t >= self.settings.clear[0]) & (d >= self.settings.clear[1])
        ahead = d >= self.localization.refuted[1]
        usual, strong = (t * explained**2 >= least for least in self.settings.agreement)
        return clear | (usual & ahead), clear | (strong & ahead)
