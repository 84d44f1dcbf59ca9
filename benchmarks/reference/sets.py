"""The sets of questions: what makes them, and how many of them each size asks."""

from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any

SIZES = ("quick", "default", "full")
SEED = 401
"""Of the generators."""
SEALED = 9000
"""Seeds from here on are asked once, at the end of a step, and never used to choose a number."""
SITES = ("intel", "seattle", "freiburg-079", "aces", "fhw", "infinite-corridor")
WORLDS = ("willow", "warehouse", "depot", "columbia")
LOADS = {"infinite-corridor": 200.0, "freiburg-079": 60.0}
"""Of the logs that take longest."""


@dataclass(frozen=True, slots=True)
class Set:
    """One set of questions.

    Attributes:
        name: Of the set.
        maker: Module and function of this package that make its shards.
        options: Of that function.
        shards: How many files each size has.
        quick: Most questions of each file that the quick size asks.
        steps: Most updates of a drive that the quick size asks.
        seeded: Whether other seeds make other questions.
        load: CPU time of the default size, roughly, in s: long ones begin first.
    """

    name: str
    maker: str
    options: dict[str, Any] = field(default_factory=dict)
    shards: tuple[int, int, int] = (1, 1, 1)
    quick: int = 10
    steps: int = 40
    seeded: bool = True
    load: float = 10.0

    def files(self, size: str, seed: int = SEED) -> list[str]:
        """Names of its files at a size."""
        count = self.shards[SIZES.index(size)]
        return [f"{self.name}-{seed}-{number:03}.npz" for number in range(count)]

    def chosen(self, count: int, size: str) -> list[int]:
        """Numbers of the questions of a file that a size asks, evenly spread."""
        most = self.quick if size == "quick" else count
        return sorted({k * count // most for k in range(min(most, count))} if count > most
                      else range(count))  # fmt: skip


def sets_of(patterns: list[str] | None = None) -> list[Set]:
    """All sets whose name is like one of the patterns."""
    return [one for one in SETS if not patterns or any(fnmatch(one.name, p) for p in patterns)]


def _plane(name: str, maker: str, **more: Any) -> Set:
    return Set(name, f"plane_sets.{maker}", **more)


def _space(name: str, maker: str, **more: Any) -> Set:
    return Set(name, f"space_sets.{maker}", **more)


SETS = (
    _plane("calibrate", "calibrate", shards=(1, 30, 100), quick=100, load=600.0),
    *(
        _plane(f"carmen-{site}-{split}", "carmen", options={"site": site, "split": split},
               quick=12, seeded=False, load=LOADS.get(site, 15.0))
        for site in SITES for split in ("fifth", "revisit")
    ),
    *(_plane(f"starts-{site}", "starts", options={"site": site}, quick=2) for site in SITES),
    *(
        _plane(f"follow-{site}", "follow", options={"site": site}, quick=1, seeded=False)
        for site in ("intel", "fr079", "jarvis")
    ),
    *(
        _plane(f"kidnap-{site}", "kidnap", options={"site": site}, quick=1, steps=65)
        for site in ("intel", "fr079")
    ),
    *(
        _plane(f"{world}-{condition}", "scans_in_world", quick=9, load=30.0,
               options={"name": world, "condition": condition})
        for world in WORLDS for condition in ("clean", "furniture", "walls-removed")
    ),
    *(_plane(f"{world}-drives", "drives_in_world", options={"name": world}, quick=1)
      for world in WORLDS),
    _plane("several-maps-floors", "floors", quick=8, load=30.0),
    _plane("several-maps-sites", "sites", quick=6, seeded=False, load=60.0),
    _plane("several-scans", "several", shards=(2, 6, 6), quick=4, load=30.0),
    _plane("region-right", "regions", options={"holds": True}, shards=(2, 6, 6), quick=4),
    _plane("region-elsewhere", "regions", options={"holds": False}, shards=(2, 6, 6), quick=4),
    _plane("check", "checks", shards=(2, 6, 6), quick=9),
    _plane("many", "many", quick=1),
    *(
        _space(f"geb079-{kind}", "building", quick=2, load=30.0,
               options={"name": f"geb079-{kind}", **options})
        for kind, options in {
            "level": {"count": 50},
            "lean": {"count": 50, "lean": 2.0},
            "tilt": {"count": 25, "lean": 5.0, "options": {"tilt": True}},
            "any-attitude": {"count": 12, "options": {"any_attitude": True}},
        }.items()
    ),
    _space("streets", "streets", quick=1, load=100.0, options={"count": 16}),
)  # fmt: skip
