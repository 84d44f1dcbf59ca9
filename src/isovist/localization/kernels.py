"""Compile what a question needs before a clock runs."""

from typing import Any

from isovist.atlas import SearchSpace
from isovist.localization.candidates.lower_bounds import has_lower_bounds

_COMPILED: set[tuple[tuple[Any, ...], bool, bool]] = set()
"""Kinds of maps, and of questions, for which everything is."""


def compile_kernels(atlas: SearchSpace, *, prove: bool = False) -> None:
    """Compile everything before a clock runs, so that reported times are those of every call."""
    kind = atlas.kernels(), has_lower_bounds(atlas), prove
    if kind in _COMPILED:
        return
    from isovist.compute import (
        bound,
        bound_small_boxes,
        cheapest_distinct,
        cheapest_keys,
        compile_each,
        correlate,
        count_misses,
        credit_removed_walls,
        encode_scan,
        invert,
        lower_bounds,
        min_cost_near,
        min_cost_within,
        refute,
        select_distinct,
        sum_beams,
        sum_scores,
        tabulate,
    )

    ends = (bound, count_misses) if atlas.dimension == 3 else ()
    quick = (*((lower_bounds,) if has_lower_bounds(atlas) else ()), *ends)
    proving = (bound, tabulate, bound_small_boxes) if prove and atlas.dimension == 2 else ()
    searching = (
        encode_scan,
        correlate,
        cheapest_keys,
        cheapest_distinct,
        select_distinct,
        min_cost_within,
        min_cost_near,
    )
    always = *searching, sum_beams, credit_removed_walls, refute, sum_scores, invert
    compile_each(*quick, *always, *atlas.kernels(), *proving)
    _COMPILED.add(kind)
