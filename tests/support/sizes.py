"""Sites of tests are small, and much is done on large ones alone: what counts as large, or many."""

LIMITS = {
    "bounds": ["candidates.lower_bounds.MIN_BOUNDED_NODES"],
    "large": ["candidates.lower_bounds.LARGE_ATLAS_NODES"],
    "maps": ["candidates.map_selection.MAX_UNSELECTED_MAPS"],
    "first": ["candidates.map_selection.FIRST_MAPS"],
    "rated": ["candidates.map_selection.RATED_BATCH"],
    "margin": ["candidates.map_selection.MIN_MARGIN"],
    "ways": ["interpretations.any_attitude.UP_DIRECTION_COUNT"],
    "shortlist": ["candidates.coarse_search.SHORTLIST_SIZE"],
}
"""By what is counted: nodes for which lower bounds pay, nodes of a large site, maps of a library
that are all searched, maps that are searched first, maps that are rated at a time, the margin that
ends this, ways up that are tried all round, and poses that a coarse search compares.
"""


def count_as_large(patch, **limits):
    """Set limits of size, by the names of `LIMITS`."""
    for kind, limit in limits.items():
        for name in LIMITS[kind]:
            patch.setattr(f"isovist.localization.{name}", limit)
