"""Locate many scans in this process: answers in order, several at once if the backend gains."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from isovist.atlas import AnyScan, SearchSpace
from isovist.compute import use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.locate import locate
from isovist.localization.query.search_space import AnyMaps, AnyRegion, search_space_of
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanSequence

Scans = Sequence[AnyScan | ScanSequence]


@dataclass(frozen=True, slots=True, eq=False)
class LocateOptions:
    """Arguments of `locate` that many scans share, with the same names and defaults."""

    region: AnyRegion = None
    tilt: bool = False
    any_attitude: bool = False
    prove: bool = False
    budget_s: float | None = None
    settings: LocalizationSettings | None = None
    backend: str | None = None


class ScanGroup(NamedTuple):
    """Scans that a worker process locates together.

    Attributes:
        first: Number of the first scan, for error texts.
        scans: The scans; each is located on its own.
        options: Arguments of `locate`.
    """

    first: int
    scans: Scans
    options: LocateOptions


def answers_in_order(space: AnyMaps | SearchSpace, group: ScanGroup) -> Iterator[Answer]:
    """Yield the answers to scans in order, as many at once as the backend gains from.

    Args:
        space: The atlas of the map, or several by name.
        group: The scans.
    """
    first, scans, options = group
    locate_scan = scan_locator(space, options)

    def locate_numbered(index: int, scan: AnyScan | ScanSequence) -> Answer:
        return locate_scan(first + index, scan)

    if options.prove:  # a proof takes all cores
        return (locate_numbered(index, scan) for index, scan in enumerate(scans))
    with use_backend(options.backend) as active:
        return active.map_in_order(locate_numbered, scans)


def scan_locator(
    space: AnyMaps | SearchSpace, options: LocateOptions | None = None
) -> Callable[[int, AnyScan | ScanSequence], Answer]:
    """Return a function that locates a scan, and puts the number of the scan into its errors.

    Args:
        space: The atlas of the map, or several by name.
        options: Arguments of `locate`.
    """
    options = options or LocateOptions()
    with use_backend(options.backend) as active:
        options = replace(options, backend=active.name)  # other threads have another default
    search_space = search_space_of(space) if isinstance(space, Mapping) else space

    def locate_scan(number: int, scan: AnyScan | ScanSequence) -> Answer:
        try:
            return locate(
                search_space, scan, region=options.region, tilt=options.tilt,
                any_attitude=options.any_attitude, prove=options.prove, budget_s=options.budget_s,
                settings=options.settings, backend=options.backend,
            )  # fmt: skip
        except InputError as error:
            error.begin_with(f"Scan {number}")
            raise

    return locate_scan
