"""`locate` for many scans in this process: answers in order, as many at once as pays."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from isovist.atlas import AnyScan, SearchSpace
from isovist.compute import use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.locate import locate
from isovist.localization.query.search_space import AnyMaps, search_space_of
from isovist.sensing import ScanSequence


def each_answer(
    space: AnyMaps | SearchSpace,
    scans: Sequence[AnyScan | ScanSequence],
    how: Mapping[str, object],
    first: int = 0,
) -> Iterator[Answer]:
    """Answers in order, as many at once as the backend makes use of.

    Args:
        space: The map, described, or several by name.
        scans: Each taken by itself.
        how: Further arguments of `locate`.
        first: Number of the first.
    """
    ask = asking(space, **how)

    def numbered(number: int, scan: AnyScan | ScanSequence) -> Answer:
        return ask(first + number, scan)

    if how.get("prove"):  # which takes all cores
        return (numbered(number, scan) for number, scan in enumerate(scans))
    with use_backend(how.get("backend")) as active:  # type: ignore[arg-type]
        return active.map_in_order(numbered, scans)


def asking(
    space: AnyMaps | SearchSpace, **how: object
) -> Callable[[int, AnyScan | ScanSequence], Answer]:
    """`locate` with the number of the scan in its errors; arguments are those of `locate`."""
    with use_backend(how.get("backend")) as active:  # type: ignore[arg-type]
        how["backend"] = active.name  # which threads do not know by themselves
    site = search_space_of(space) if isinstance(space, Mapping) else space

    def ask(number: int, scan: AnyScan | ScanSequence) -> Answer:
        try:
            return locate(site, scan, **how)  # type: ignore[arg-type]
        except InputError as error:
            error.begin_with(f"Scan {number}")
            raise

    return ask
