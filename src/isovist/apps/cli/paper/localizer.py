"""The paper's localizer, as `isovist paper locate` and `isovist paper track` make it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isovist.paper.localizer import PaperLocalizer


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """How the paper's localizer is made; `None` leaves its default."""

    channels: int | None = None
    temperature: float | None = None
    profile: str | None = None
    norm: str | None = None
    transform: str | None = None
    spacing: float | None = None
    basis: Path | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were."""
        return [name for name in self.__slots__ if getattr(self, name) is not None]


def localizer_of(
    world: Path, given: PaperOptions, height: float | None, highest: float | None, view: Any = None
) -> "PaperLocalizer":
    """The paper's localizer of a map, or of the map of an atlas."""
    from isovist.atlas.data.store import read_atlas
    from isovist.io.maps.read import read_map
    from isovist.paper.basis_fit.separation import read_basis
    from isovist.paper.localizer import paper_localizer
    from isovist.storage.files import is_folder

    plan = read_atlas(world).world if is_folder(world) else read_map(world)
    options = {name: getattr(given, name) for name in given.given}
    if given.basis is not None:
        options["basis"] = read_basis(given.basis, plan)
    return paper_localizer(plan, height=height, highest=highest, view=view, **options)
