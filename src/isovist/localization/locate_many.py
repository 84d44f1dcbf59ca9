"""Many scans: the answers of `locate`, one by one, from all cores.

Each core has a scan of its own, and its loops ask for help only when a core has none: what must be
done in Python, a fifth of the work, then goes on beside the loops of another scan.  The same scan
gives the same bits whoever helped.

On a card next to all of it is Python's, which has one lock: there threads only wait for each other.
Two scans take turns instead, one of which goes on while the card works on the other, and processes
are asked for more (`workers`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from isovist.atlas import AnyScan
from isovist.compute import map_in_order, use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.answer_stream import each_answer
from isovist.localization.query.search_space import AnyMaps, AnyRegion
from isovist.localization.settings import LocalizationSettings
from isovist.localization.workers import ASKED, Workers, groups_of
from isovist.renamed import accept_old_names
from isovist.sensing import ScanSequence


@accept_old_names
def locate_many(
    space: AnyMaps,
    scans: Sequence[AnyScan | ScanSequence],
    *,
    region: AnyRegion = None,
    tilt: bool = False,
    any_attitude: bool = False,
    prove: bool = False,
    budget_s: float | None = None,
    settings: LocalizationSettings | None = None,
    progress: Callable[[float], None] | None = None,
    backend: str | None = None,
    workers: int | Workers | None = None,
) -> list[Answer]:
    """What `locate` says of each scan, in their order and bit for bit.

    The first scan that `locate` refuses ends it with the same error and the number of the scan;
    whoever wants the others leaves that one out.  Times in the answers are of one core each, and on
    a card of both scans that take turns.

    Args:
        space: The map, described, or several by name.
        scans: Each taken by itself; several that odometry joins are one (`sensing.scan_sequence`).
        region: Where the robot may be, at all of them.
        tilt: As for `locate`, like all that follow.
        any_attitude: The same.
        prove: The same; proofs take all cores, so that these scans come one after the other.
        budget_s: The same, of each proof.
        settings: The same.
        progress: Told the share of the scans that are answered.
        backend: What computes, as for `locate`.
        workers: Processes that share the scans, on one core each; threads of this one, eight at
            most, when `None`.  They take some seconds to begin, and are worth it for thousands of
            scans on more than four cores, and on a card; several share a card well under CUDA's MPS
            alone.  `Workers` that are kept have begun already.
    """
    if not isinstance(scans, Sequence):
        raise InputError.about(
            "locate_many",
            f"needs a list of scans, got {type(scans).__name__}. `locate` takes a single one.",
        )
    with use_backend(backend) as active:
        name = active.name
    how = {
        "region": region, "tilt": tilt, "any_attitude": any_attitude,
        "prove": prove, "budget_s": budget_s, "settings": settings, "backend": name,
    }  # fmt: skip
    answers: list[Answer] = []
    told: Iterator[list[Answer]]
    with ExitStack() as stack:
        if workers is None:
            told = ([one] for one in each_answer(space, scans, how))
        else:
            kept = workers
            if not isinstance(kept, Workers):
                kept = stack.enter_context(Workers(space, kept))
            some = groups_of(scans, kept.count)
            told = map_in_order(kept.asking(space, how), some, ASKED * kept.count)
        for these in told:
            answers += these
            if progress is not None:
                progress(len(answers) / len(scans))
    return answers
