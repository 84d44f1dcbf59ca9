"""Where am I on this map?  Localization from one range scan, with an honest verdict.

import isovist as iv

atlas = iv.build(iv.read_map("office.yaml"))
answer = iv.locate(atlas, iv.read_scan("scan.json"))
answer.verdict, answer.best.pose
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isovist.atlas.base import Atlas
    from isovist.atlas.build import build
    from isovist.atlas.settings import AtlasSettings, BeamModel
    from isovist.atlas.store import read_atlas, write_atlas
    from isovist.descriptor.descriptor import Descriptor
    from isovist.errors import FileError, InputError, IsovistError, MissingExtraError
    from isovist.io.logs.read import read_log
    from isovist.io.maps.read import read_map, write_map
    from isovist.io.scans.read import read_scan, write_scan
    from isovist.localization.answer import Answer, Certificate, Estimate, Verdict
    from isovist.localization.certify import certify
    from isovist.localization.locate import locate
    from isovist.localization.region import Region
    from isovist.localization.settings import LocalizationSettings
    from isovist.maps.cells import OccupancyMap
    from isovist.maps.mesh import MeshMap
    from isovist.maps.segments import SegmentMap
    from isovist.maps.voxels import VoxelMap
    from isovist.poses import Pose, Pose3
    from isovist.roses import Rose
    from isovist.sensing.cloud_scan import CloudScan
    from isovist.sensing.lidar import Lidar
    from isovist.sensing.scan import Scan
    from isovist.sensing.signals import Intensity, Range, SurfaceGradient
    from isovist.sensing.spinning import SpinningLidar
    from isovist.surveying.survey import survey, write_survey
    from isovist.theory.gram import Gram
    from isovist.tracking.drift import Drift
    from isovist.tracking.settings import TrackingSettings
    from isovist.tracking.tracker import Belief, Tracker

__version__ = "0.1.0.dev0"

_HOME = {
    "Answer": "localization.answer",
    "Atlas": "atlas.base",
    "AtlasSettings": "atlas.settings",
    "BeamModel": "atlas.settings",
    "Belief": "tracking.tracker",
    "Certificate": "localization.answer",
    "CloudScan": "sensing.cloud_scan",
    "Descriptor": "descriptor.descriptor",
    "Drift": "tracking.drift",
    "Estimate": "localization.answer",
    "FileError": "errors",
    "Gram": "theory.gram",
    "InputError": "errors",
    "Intensity": "sensing.signals",
    "IsovistError": "errors",
    "Lidar": "sensing.lidar",
    "LocalizationSettings": "localization.settings",
    "MeshMap": "maps.mesh",
    "MissingExtraError": "errors",
    "OccupancyMap": "maps.cells",
    "Pose": "poses",
    "Pose3": "poses",
    "Range": "sensing.signals",
    "Region": "localization.region",
    "Rose": "roses",
    "Scan": "sensing.scan",
    "SegmentMap": "maps.segments",
    "SpinningLidar": "sensing.spinning",
    "SurfaceGradient": "sensing.signals",
    "Tracker": "tracking.tracker",
    "TrackingSettings": "tracking.settings",
    "Verdict": "localization.answer",
    "VoxelMap": "maps.voxels",
    "build": "atlas.build",
    "certify": "localization.certify",
    "locate": "localization.locate",
    "read_atlas": "atlas.store",
    "read_log": "io.logs.read",
    "read_map": "io.maps.read",
    "read_scan": "io.scans.read",
    "survey": "surveying.survey",
    "write_atlas": "atlas.store",
    "write_map": "io.maps.read",
    "write_scan": "io.scans.read",
    "write_survey": "surveying.survey",
}
"""Where each public name lives; it is imported when it is first used, so that starting is fast."""

__all__ = [
    "Answer",
    "Atlas",
    "AtlasSettings",
    "BeamModel",
    "Belief",
    "Certificate",
    "CloudScan",
    "Descriptor",
    "Drift",
    "Estimate",
    "FileError",
    "Gram",
    "InputError",
    "Intensity",
    "IsovistError",
    "Lidar",
    "LocalizationSettings",
    "MeshMap",
    "MissingExtraError",
    "OccupancyMap",
    "Pose",
    "Pose3",
    "Range",
    "Region",
    "Rose",
    "Scan",
    "SegmentMap",
    "SpinningLidar",
    "SurfaceGradient",
    "Tracker",
    "TrackingSettings",
    "Verdict",
    "VoxelMap",
    "build",
    "certify",
    "locate",
    "read_atlas",
    "read_log",
    "read_map",
    "read_scan",
    "survey",
    "write_atlas",
    "write_map",
    "write_scan",
    "write_survey",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'isovist' has no attribute {name!r}")
    value = getattr(import_module(f"isovist.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
