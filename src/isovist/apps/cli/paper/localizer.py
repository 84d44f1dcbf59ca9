"""The paper's localizer, as `isovist paper locate`, `track` and `metric` make it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isovist.paper import PaperLocalizer


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Options of the paper's localizer; `None` means the default."""

    channels: int | None = None
    temperature: float | None = None
    profile: str | None = None
    norm: str | None = None
    transform: str | None = None
    spacing: float | None = None
    basis: Path | None = None

    def localizer(
        self,
        world: Path,
        height: float | None = None,
        max_height: float | None = None,
        view: Any = None,
    ) -> "PaperLocalizer":
        """Make the localizer of a map, or of the map of an atlas."""
        from isovist import AtlasSettings, Range, read_atlas, read_map
        from isovist.paper import PaperLocalizer, make_basis, read_basis, sensor_layer
        from isovist.storage import is_folder

        plan = read_atlas(world).world if is_folder(world) else read_map(world)
        if self.basis is None:
            channels = 64 if self.channels is None else self.channels
            profile = self.profile or "softmax"
            basis = make_basis(plan.dimension, channels, self.temperature, profile)
        else:
            basis = read_basis(self.basis, plan)
        signal = Range(AtlasSettings().reach, self.transform or "linear")
        region = sensor_layer(plan, height, max_height)
        norm, spacing = self.norm or "euclid", 0.25 if self.spacing is None else self.spacing
        return PaperLocalizer(plan, basis, signal, norm, spacing, region, view)  # type: ignore[arg-type]
