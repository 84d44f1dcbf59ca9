"""Turn options of a command line into simulated 2D and 3D lidars."""

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from isovist.errors import InputError
from isovist.storage import quote

if TYPE_CHECKING:
    from isovist.sensing import Lidar, SpinningLidar


@dataclass(frozen=True, slots=True)
class SensorOptions:
    """A simulated lidar, 2D or 3D.

    Attributes:
        field_of_view: Angle that a 2D lidar sees, in degrees.
        beams: Number of beams of a 2D scan, or of each ring in 3D.
        range_max: Maximum range, in m.
        noise: Standard deviation of a range, in m.
        rings: Number of rings of a 3D lidar.
    """

    field_of_view: float = 360.0
    beams: int = 360
    range_max: float = 10.0
    noise: float = 0.02
    rings: int = 16

    def lidar(self, dimension: int) -> "Lidar | SpinningLidar":
        """Return the sensor for 2D or 3D maps."""
        from isovist.sensing import Lidar, SpinningLidar

        if dimension == 2:
            view = math.radians(self.field_of_view)
            return Lidar(view, self.beams, self.range_max, self.noise)
        if self.field_of_view != 360.0:
            raise InputError(
                "A spinning lidar sees 360° around; leave out `--field-of-view`.", code="conflict"
            )
        return SpinningLidar(
            self.rings, azimuths=self.beams, range_max=self.range_max, noise=self.noise
        )

    def with_changes(self, text: str) -> "SensorOptions":
        """Return the options with changes such as `range-max=30,beams=720`."""
        options = {name.replace("_", "-"): value for name, value in asdict(self).items()}
        changes = {}
        for part in text.split(","):
            name, _, value = part.partition("=")
            try:
                # Counts stay whole numbers.
                changes[name.replace("-", "_")] = type(options[name])(value)
            except (KeyError, ValueError):
                raise InputError(
                    f"A sensor to compare is given by {', '.join(options)}, "
                    f"e.g. range-max=30,beams=720, got {quote(part)}."
                ) from None
        return replace(self, **changes)

    def lidars(
        self, dimension: int, compare: tuple[str, str] | None
    ) -> "list[Lidar | SpinningLidar]":
        """Return the sensor, or two variants of it to compare."""
        if compare is None:
            return [self.lidar(dimension)]
        return [self.with_changes(text).lidar(dimension) for text in compare]
