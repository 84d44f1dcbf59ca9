"""Locate many scans on all cores; each answer is that of `locate`.

Each core has a scan of its own.  Compiled loops use further cores only while these are idle.  So
the Python part of a scan, a fifth of the work, runs while other scans are in compiled loops.  A
scan gives the same bits however many cores share its loops.

With a GPU almost all the remaining work is Python, which has one lock, so more threads would only
wait.  Two scans take turns: one continues while the GPU works on the other.  Processes locate more
scans per second (`workers`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from isovist.atlas import AnyScan
from isovist.compute import map_in_order, use_backend
from isovist.errors import InputError
from isovist.localization.answer import Answer
from isovist.localization.answer_stream import LocateOptions, ScanGroup, answers_in_order
from isovist.localization.query.search_space import AnyMaps, AnyRegion
from isovist.localization.settings import LocalizationSettings
from isovist.localization.workers import QUEUED_GROUPS, Workers, split_scans
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
    """Locate many scans; the answers are in order and equal to those of `locate`, bit for bit.

    The first scan that `locate` refuses raises its error, with the number of the scan.  To get the
    other answers, leave that scan out.  Times in the answers are of one core each; with a GPU, of
    two scans that take turns.

    Args:
        space: The atlas of the map, or several by name.
        scans: The scans; each is located on its own.  Scans that odometry joins are one
            (`sensing.scan_sequence`).
        region: Where the robot may be, for all scans.
        tilt: As for `locate`.
        any_attitude: As for `locate`.
        prove: As for `locate`.  A proof takes all cores, so the scans run one after the other.
        budget_s: Time limit of each proof in s, as for `locate`.
        settings: Settings of localization.
        progress: Function that is called with the share of the scans that are answered.
        backend: Backend that computes, as for `locate`.
        workers: Number of processes that share the scans, on one core each.  By default up to
            eight threads of this process do.  Processes take some seconds to start.  They pay
            for thousands of scans on more than four cores, and with a GPU; several processes share
            a GPU well only with CUDA MPS.  Pass `Workers` to start them once for many calls.
    """
    if not isinstance(scans, Sequence):
        raise InputError.about(
            "locate_many",
            f"needs a list of scans, got {type(scans).__name__}. `locate` takes a single one.",
        )
    with use_backend(backend) as active:
        name = active.name
    options = LocateOptions(region, tilt, any_attitude, prove, budget_s, settings, name)
    answers: list[Answer] = []
    groups: Iterator[list[Answer]]
    with ExitStack() as stack:
        if workers is None:
            all_scans = ScanGroup(0, scans, options)
            groups = ([answer] for answer in answers_in_order(space, all_scans))
        else:
            pool = workers
            if not isinstance(pool, Workers):
                pool = stack.enter_context(Workers(space, pool))
            parts = split_scans(scans, pool.count, options)
            groups = map_in_order(pool.asker(space), parts, QUEUED_GROUPS * pool.count)
        for group in groups:
            answers += group
            if progress is not None:
                progress(len(answers) / len(scans))
    return answers
