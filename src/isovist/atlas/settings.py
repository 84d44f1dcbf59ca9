"""Settings of atlases and of the beam model."""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.renamed import accept_old_names
from isovist.settings import Settings, setting

SIX_LOGS = "isovist bench carmen on six logs, both splits"
SHINY_ROOM = "tests/behaviour/test_locate.py: a room whose walls differ in reflectance alone"


@dataclass(frozen=True, slots=True)
class WallFitSettings(Settings):
    """Set how poses are fitted to the walls of an atlas.

    Attributes:
        damping: Share of the beams that is added to the normal matrix, since nothing pulls along a
            corridor.
        beam_spacing_rad: Smallest angle between two beams that are fitted in 3D.
        pull_spacings: Distance from the walls up to which beams of large 3D maps pull a fit, in
            spacings of the nodes.
        min_spacing_m: Smallest spacing of the nodes for `pull_spacings`.
        max_pull_m: Distance from the walls beyond which beams of large 3D maps need not pull.
    """

    damping: float = setting(
        0.02, unit="1", range=(0.0, 1.0), evidence="not varied",
        raises="shorter steps along directions that beams hardly constrain",
    )  # fmt: skip
    beam_spacing_rad: float = setting(
        float(np.radians(1.0)), unit="rad", range=(1e-4, 1.0),
        raises="fewer beams of a sensor with a narrow field of view",
        evidence="beams nearer to each other see the same; not varied",
    )  # fmt: skip
    pull_spacings: float = setting(
        4.6, unit="spacings", range=(1.0, 100.0),
        raises="more memory for distances",
        evidence="derived: such beams are 2.3 σ off in the widest fit, and weigh 0.07",
    )  # fmt: skip
    min_spacing_m: float = setting(
        0.25, unit="m", range=(1e-3, 100.0),
        raises="more memory for distances where nodes are dense",
        evidence="the spacing that the widest fit counts at least",
    )  # fmt: skip
    max_pull_m: float = setting(
        2.8, unit="m", range=(1e-3, 1000.0), evidence="not varied",
        raises="more memory for distances where nodes are sparse",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CloudChannelSettings(Settings):
    """Set which channels of a point cloud are compared with an atlas.

    Attributes:
        min_cover: Share of a channel that returns must fill for the channel to be typical of the
            sensor.
        typical_quantile: Quantile of the filled shares that stands for a well covered channel.
    """

    min_cover: float = setting(
        0.01, unit="1", range=(0.0, 1.0), evidence="not varied",
        raises="sparse channels do not lower the typical cover",
    )  # fmt: skip
    typical_quantile: float = setting(
        0.9, unit="1", range=(0.0, 1.0), evidence="not varied",
        raises="fewer channels of a cloud count",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReflectanceSettings(Settings):
    """Set when the reflectances of a map and the intensities of a scan can be compared.

    Attributes:
        dull_quantile: Quantile of the reflectances of the walls that stands for a dull wall.
        bright_quantile: Quantile of the reflectances of the walls that stands for a bright wall.
        max_offset: Distance of the median intensity of a scan from the range between dull and
            bright walls, as a share of the width of that range.
    """

    dull_quantile: float = setting(
        0.05, unit="1", range=(0.0, 0.5), evidence="not varied",
        raises="a narrower range of brightness",
    )  # fmt: skip
    bright_quantile: float = setting(
        0.95, unit="1", range=(0.5, 1.0), evidence="not varied",
        raises="a wider range of brightness",
    )  # fmt: skip
    max_offset: float = setting(
        0.5, unit="1", range=(0.0, 100.0), evidence="not varied",
        raises="intensities in other units are compared, too",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AtlasSettings(Settings):
    """Set how an atlas is built; the atlas stores these settings.

    Attributes:
        spacing: Distance between neighbouring nodes.
        channels: Number of channels around the circle.
        rings: Number of rings of equal height from the nadir to the zenith, in 3D.
        elevation: Maximum elevation above or below the horizon that is described, in 3D.
        reach: Range beyond which all ranges count as equal.
        gap: Distance from free cells up to which unknown cells count as gaps between rays of the
            map maker.
        height: Height of the sensor above the floor of a 3D map, if `build` gets none.
        cell: Side of the cells that a plan of walls is drawn into.  Cells of a mesh are twice as
            wide.
        spacing_cells: Minimum distance between neighbouring nodes of a 3D map.
        wall_fit: Fit of poses to the walls of the map.
        cloud_channels: Selection of the channels of a point cloud that count.
        reflectance: Conditions under which intensities count.
    """

    spacing: float = setting(
        0.25, unit="m", range=(1e-6, 1e6),
        raises="a smaller atlas and a faster search, which may miss narrow places",
        evidence="the first experiments on twelve real logs; not varied since",
    )  # fmt: skip
    channels: int = setting(
        64, unit="1", range=(1, 65536),
        raises="a larger atlas and a slower search that tells places better apart",
        evidence="intel, descriptor alone: 43, 77, 87, 88 % of scans first with 16, 32, 64, 128",
    )  # fmt: skip
    rings: int = setting(
        16, unit="1", range=(1, 4096),
        raises="a larger atlas and a slower search in 3D",
        evidence="isovist bench simulate3d on geb079; not varied since",
    )  # fmt: skip
    elevation: float = setting(
        float(np.arcsin(0.75)), unit="rad", range=(1e-6, 0.5 * np.pi),
        raises="more rings of a 3D map are described",
        evidence="lidars see within ±45°",
    )  # fmt: skip
    reach: float = setting(
        30.0, unit="m", range=(1e-6, 1e9), evidence="what indoor lidars return",
        raises="far walls count, and building takes longer",
    )  # fmt: skip
    gap: float = setting(
        0.15, unit="m", range=(1e-6, 1e6), evidence="the distance of two rays 1° apart at 9 m",
        raises="wider strips of unknown cells let rays pass",
    )  # fmt: skip
    height: float = setting(
        1.0, unit="m", range=(1e-6, 1e6),
        raises="nodes lie higher above the floor",
        evidence="a table's height, between a cleaning robot and a person",
    )  # fmt: skip
    cell: float = setting(
        0.05, unit="m", range=(1e-6, 1e6), evidence="the cells of usual ROS maps",
        raises="a smaller atlas with coarser walls",
    )  # fmt: skip
    spacing_cells: int = setting(
        3, unit="cells", range=(1, 1000), evidence="nearer nodes see the same cells; not varied",
        raises="fewer nodes on 3D maps with large cells",
    )  # fmt: skip
    wall_fit: WallFitSettings = WallFitSettings()
    cloud_channels: CloudChannelSettings = CloudChannelSettings()
    reflectance: ReflectanceSettings = ReflectanceSettings()

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "AtlasSettings":
        """Build settings from the result of `to_json`, of this or an earlier version."""
        names = ("spacing_cells", "wall_fit", "cloud_channels", "reflectance")
        default = cls().to_json()
        return super(AtlasSettings, cls).from_json({name: default[name] for name in names} | values)

    def differing(self, other: "AtlasSettings") -> str:
        """Return the settings that differ from others by name, with both values, as a text.

        The text is empty if the settings are equal.
        """
        values = ((row.name, *map(attrgetter(row.name), (self, other))) for row in self.rows())
        return ", ".join(
            f"{name} {mine:g} and {yours:g}" for name, mine, yours in values if mine != yours
        )


@accept_old_names
@dataclass(frozen=True, slots=True)
class BeamModel(Settings):
    """Set the beam model, which rates a range at a pose (`compute.likelihood`).

    Attributes:
        noise: Standard deviation of a range, without the part from the cells: errors of the sensor
            and of the poses that the map was made with.
        hit: Share of beams that end at the wall.
        short: Share of beams that end before the wall.
        short_range_m: Range up to which a nearer wall does not make short returns likelier.
        random: Share of beams with a random range.
        unknown_hit: Share of beams that end in unknown space.
        unknown_fade_per_m: Rate at which returns fade in unknown space.
        behind_m: Distance behind a wall beyond which a beam counts as having passed through it.
        behind_share: Share of the range that is added to that distance.
        intensity_sigma_share: Standard deviation of an intensity, as a share of the range between
            dull and bright walls.
        intensity_weight: Share of the intensities that follow the map.
    """

    noise: float = setting(
        0.055, unit="m", range=(0.0, 1e6), evidence=SIX_LOGS,
        raises="places that fit less well are less unlikely",
    )  # fmt: skip
    hit: float = setting(
        0.75, unit="1", range=(0.0, 1.0), evidence=SIX_LOGS,
        raises="beams that end at walls count more",
    )  # fmt: skip
    short: float = setting(
        0.06, unit="1", range=(0.0, 1.0), evidence=SIX_LOGS,
        raises="people and furniture that the map lacks cost less",
    )  # fmt: skip
    short_range_m: float = setting(
        0.5, unit="m", range=(1e-6, 1e6), evidence=SIX_LOGS,
        raises="short returns before near walls count less",
    )  # fmt: skip
    random: float = setting(
        0.08, unit="1", range=(1e-9, 1.0), evidence=SIX_LOGS,
        raises="a beam that does not fit costs less",
    )  # fmt: skip
    unknown_hit: float = setting(
        0.5, unit="1", range=(0.0, 1.0), evidence=SIX_LOGS,
        raises="beams that end in unknown space cost less",
    )  # fmt: skip
    unknown_fade_per_m: float = setting(
        0.6, unit="1/m", range=(0.0, 1e6), evidence=SIX_LOGS,
        raises="beams that end deep in unknown space cost more",
    )  # fmt: skip
    behind_m: float = setting(
        0.1, unit="m", range=(0.0, 1e6), evidence=SIX_LOGS,
        raises="fewer beams count as having gone through a wall",
    )  # fmt: skip
    behind_share: float = setting(
        0.1, unit="1", range=(0.0, 1e9), evidence=SIX_LOGS,
        raises="fewer long beams count as having gone through a wall",
    )  # fmt: skip
    intensity_sigma_share: float = setting(
        0.2, unit="1", range=(1e-6, 1e6), evidence=SHINY_ROOM,
        raises="intensities tell places less apart",
    )  # fmt: skip
    intensity_weight: float = setting(
        0.8, unit="1", range=(0.0, 0.999999), evidence=SHINY_ROOM,
        raises="an intensity that does not fit costs more",
    )  # fmt: skip

    def row(self, reach: float, off: float, *, extra: float = 0.0) -> FloatArray:
        """Return the model as the array that `compute.likelihood.beam_model` takes, shape (10,).

        Args:
            reach: Longest range Z, in m.
            off: Standard deviation from the cells of the map, in m.
            extra: Length in m that is added to `behind_m`, and as a share to `behind_share`.
        """
        return np.array(
            [
                np.hypot(self.noise, off), reach,
                self.hit, self.short, self.short_range_m, self.random,
                self.unknown_hit, self.unknown_fade_per_m,
                self.behind_m + extra, self.behind_share + extra,
            ]
        )  # fmt: skip
