"""Settings of reports: lengths of lists, sizes of pictures, speed of animations."""

import math
from dataclasses import dataclass

from isovist.settings import Settings, setting


@dataclass(frozen=True, slots=True)
class TextSettings(Settings):
    """Set the length of reports, and the smallest difference between two surveys.

    Attributes:
        max_regions: Maximum number of regions of a proof in JSON; `count` is the number of all.
        max_areas: Maximum number of weak areas in the text and the picture of a survey.
        share_classes: Number of classes of equal width of the unique share in GeoJSON.
        min_standard_errors: Minimum difference of two sensors that is reported as one.
    """

    max_regions: int = setting(
        1000,
        unit="regions",
        range=(1, 1_000_000),
        raises="larger JSON of proofs that exclude little",
        evidence="not varied",
    )
    max_areas: int = setting(
        5,
        unit="areas",
        range=(0, 100),
        raises="more areas in the text and in the picture of a survey",
        evidence="not varied",
    )
    share_classes: int = setting(
        5,
        unit="classes",
        range=(1, 100),
        raises="finer steps of the unique share in GeoJSON",
        evidence="not varied",
    )
    min_standard_errors: float = setting(
        2.0,
        unit="standard errors",
        range=(0.0, 10.0),
        raises="fewer pairs of sensors that are said to differ; at 2, 5 % of equal ones are",
        evidence="the normal distribution",
    )


@dataclass(frozen=True, slots=True)
class FigureSettings(Settings):
    """Sizes and limits of pictures of answers, surveys and maps.

    Attributes:
        dpi: Resolution of a picture.
        min_wall_px: Minimum width of a wall in a picture.
        isovist_rays: Number of rays that outline the visible region on a grid map.
        min_close_view_m: Minimum reach of the close view around a pose.
        max_close_view_m: Maximum reach of the close view around a pose.
        robot_in_plan: Length of a robot on the plan.
        robot_in_close_view: Length of a robot in a close view.
        max_strokes: Maximum number of strokes that show the weakest direction.
        stroke_share: Share of unique answers below which strokes are drawn.
    """

    dpi: int = setting(
        150,
        unit="pixels per inch",
        range=(10, 1200),
        raises="larger pictures",
        evidence="not varied",
    )
    min_wall_px: float = setting(
        2.0,
        unit="pixels",
        range=(0.5, 20.0),
        raises="thicker walls on large maps, which may close doors",
        evidence="not varied",
    )
    isovist_rays: int = setting(
        1440,
        unit="rays",
        range=(8, 100_000),
        raises="a finer outline of what the sensor sees",
        evidence="not varied",
    )
    min_close_view_m: float = setting(
        1.5,
        unit="m",
        range=(0.1, 100.0),
        raises="more of the map around a scan with short ranges",
        evidence="not varied",
    )
    max_close_view_m: float = setting(
        7.0,
        unit="m",
        range=(0.1, 1000.0),
        raises="more of the map around a scan with long ranges",
        evidence="not varied",
    )
    robot_in_plan: float = setting(
        0.03,
        unit="share of the plan",
        range=(0.001, 1.0),
        raises="larger robots on the plan",
        evidence="not varied",
    )
    robot_in_close_view: float = setting(
        0.06,
        unit="share of the view",
        range=(0.001, 1.0),
        raises="larger robots in close views",
        evidence="not varied",
    )
    max_strokes: int = setting(
        900,
        unit="strokes",
        range=(1, 100_000),
        raises="denser strokes of the weakest direction of a survey",
        evidence="not varied",
    )
    stroke_share: float = setting(
        0.8,
        unit="share of unique answers",
        range=(0.0, 1.0),
        raises="strokes at more places of a survey",
        evidence="not varied",
    )


@dataclass(frozen=True, slots=True)
class SliceSettings(Settings):
    """Set the part of a 3D map that pictures show around the sensor.

    Attributes:
        half_height_m: Height that a slice shows above and below the sensor.
        reach_m: Horizontal reach of the oblique view around the sensor.
        above_sensor_m: Height above the sensor at which the oblique view cuts walls off.
        down_rad: Angle below the horizon of the oblique view.
        around_rad: Direction of the oblique view.
    """

    half_height_m: float = setting(
        0.3,
        unit="m",
        range=(0.0, 10.0),
        raises="more walls and returns in the slice at the height of the sensor",
        evidence="not varied",
    )
    reach_m: float = setting(
        7.0,
        unit="m",
        range=(0.5, 1000.0),
        raises="more of the map in the oblique view",
        evidence="not varied",
    )
    above_sensor_m: float = setting(
        1.0,
        unit="m",
        range=(0.0, 100.0),
        raises="higher walls in the oblique view, which hide what is behind",
        evidence="not varied",
    )
    down_rad: float = setting(
        math.radians(50.0),
        unit="rad",
        range=(0.0, math.pi / 2),
        raises="a view from higher up",
        evidence="not varied",
    )
    around_rad: float = setting(
        math.radians(-60.0),
        unit="rad",
        range=(-math.pi, math.pi),
        raises="a view from farther counter-clockwise",
        evidence="not varied",
    )


@dataclass(frozen=True, slots=True)
class DriveFigureSettings(Settings):
    """Pictures and animations of a drive of a lost robot.

    Attributes:
        panels: Number of moments in a picture.
        max_frames: Maximum number of frames of an animation.
        frame_s: Duration of a frame.
        end_frame_s: Duration of the first and the last frame.
        min_opacity: Minimum opacity of a rival.
        same_place_m: Distance to an estimate up to which a place of the start is still possible.
    """

    panels: int = setting(
        4, unit="moments", range=(2, 100), raises="more moments in a picture", evidence="not varied"
    )
    max_frames: int = setting(
        60,
        unit="frames",
        range=(2, 10_000),
        raises="smoother, larger animations",
        evidence="not varied",
    )
    frame_s: float = setting(
        0.2, unit="s", range=(0.02, 10.0), raises="slower animations", evidence="not varied"
    )
    end_frame_s: float = setting(
        2.5,
        unit="s",
        range=(0.02, 60.0),
        raises="a longer first and last frame",
        evidence="not varied",
    )
    min_opacity: float = setting(
        0.35,
        unit="1",
        range=(0.0, 1.0),
        raises="unlikely rivals that are easier to see",
        evidence="not varied",
    )
    same_place_m: float = setting(
        1.0,
        unit="m",
        range=(0.0, 100.0),
        raises="fewer crosses at refuted places",
        evidence="not varied",
    )


TEXT = TextSettings()
FIGURE = FigureSettings()
SLICE = SliceSettings()
DRIVE_FIGURE = DriveFigureSettings()
