"""Hold a query: a scan, where to search for it, and how."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from isovist.atlas import AnyScan, SearchSpace
from isovist.errors import InputError
from isovist.localization.query.search_space import (
    AnyMaps,
    AnyRegion,
    SearchRegion,
    frame_of,
    search_region,
    search_space_of,
)
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose3
from isovist.sensing import Drift, ScanInput, ScanSequence, join_scans, last_scan, limit_range
from isovist.settings import checked_settings


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """A scan, where to search for it, and how.

    Attributes:
        space: One map, or several side by side.
        scan: One scan or several, without beams that are longer than the map is wide; `None` where
            no beam is left.
        region: Where the robot may be; everywhere when `None`.
        settings: How to search, to fit and to decide.
        fits_tilt: In 3D, whether roll and pitch are fitted in any case.
        motion: Of the robot since the last scan that sees anything; `None` where that is the last.
        drift: How far motions can be trusted.
        frame: What poses of the answer are of.
        attitude: A of `interpretations.any_attitude` (1): the scan is that of a level robot, whose
            answer is turned by it; `None` where the scan is that of the robot itself.
    """

    space: SearchSpace
    scan: ScanInput | None
    region: SearchRegion
    settings: LocalizationSettings
    fits_tilt: bool = False
    motion: AnyPose | None = None
    drift: Drift | None = None
    frame: str = "sensor"
    attitude: Pose3 | None = None

    @classmethod
    def of(
        cls,
        space: AnyMaps | SearchSpace,
        scan: AnyScan | ScanSequence | Sequence[AnyScan],
        *,
        motions: Sequence[AnyPose] | None = None,
        drift: Drift | None = None,
        region: AnyRegion = None,
        settings: LocalizationSettings | None = None,
    ) -> "Query":
        """Check the arguments of a caller, and join several scans.

        Raises:
            InputError: If the scan does not fit the map, or something is not of its kind.
        """
        is_space = isinstance(space, SearchSpace | Mapping)
        if not is_space or not isinstance(scan, AnyScan | ScanSequence | list | tuple):
            raise InputError.about(
                "locate",
                f"needs an atlas and a scan, "
                f"got {type(space).__name__} and {type(scan).__name__}. "
                "`build` makes an atlas of a map, `read_scan` a scan of a file.",
            )
        scans, target = join_scans(scan, motions, drift), search_space_of(space)
        allowed = search_region(target, region)
        target.check(last_scan(scans))
        if isinstance(scans, ScanSequence) and scans.span > target.diagonal:
            raise InputError(
                f"By `motions` the scans lie {scans.span:.1f} m apart, and the map is "
                f"{target.diagonal:.1f} m wide. Are the motions in m, each from one scan to the "
                "next?",
                field="motions",
            )
        in_range, motion = limit_range(scans, target.diagonal)
        if motion is not None and allowed is not None:  # the region is of a scan that sees nothing
            in_range = None
        options = checked_settings(LocalizationSettings, settings)
        frame = frame_of(last_scan(scans))
        return cls(target, in_range, allowed, options, motion=motion, drift=drift, frame=frame)

    @property
    def scans(self) -> ScanInput:
        """Return the scan or sequence of scans, with at least one beam in range."""
        assert self.scan is not None
        return self.scan

    def of_scan(self, scan: ScanInput, *, fits_tilt: bool) -> "Query":
        """Return the same query for another reading of the scan."""
        return replace(self, scan=scan, fits_tilt=fits_tilt)
