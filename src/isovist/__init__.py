"""Where am I on this map?  Localization from one range scan, with an honest verdict.

import isovist as iv

atlas = iv.build(iv.read_map("office.yaml"))
answer = iv.locate(atlas, iv.read_scan("scan.json"))
answer.verdict, answer.best.pose
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# At once, not when first used: importing the package `isovist.locate` later would put that
# package in the place of the verb.
from isovist.locate.locate import locate

if TYPE_CHECKING:
    from isovist.atlas.atlas import Atlas, build
    from isovist.atlas.store import read_atlas, write_atlas
    from isovist.descriptor import Descriptor
    from isovist.errors import IsovistError
    from isovist.gram import Gram
    from isovist.io.maps import read_map, write_map
    from isovist.io.scans import read_scan, write_scan
    from isovist.locate.answer import Answer, Estimate, Verdict
    from isovist.locate.certificate import Certificate, certify
    from isovist.locate.region import Region
    from isovist.maps.mesh import MeshMap
    from isovist.maps.occupancy import OccupancyMap
    from isovist.maps.segments import SegmentMap
    from isovist.maps.voxels import VoxelMap
    from isovist.poses import Pose
    from isovist.roses import Rose
    from isovist.sensing.lidar import Lidar
    from isovist.sensing.scan import Scan
    from isovist.sensing.signals import Intensity, Range, SurfaceGradient
    from isovist.track.tracker import Tracker

__version__ = "0.1.0.dev0"

_HOME = {
    "Answer": "locate.answer",
    "Atlas": "atlas.atlas",
    "Certificate": "locate.certificate",
    "Descriptor": "descriptor",
    "Estimate": "locate.answer",
    "Gram": "gram",
    "Intensity": "sensing.signals",
    "IsovistError": "errors",
    "Lidar": "sensing.lidar",
    "MeshMap": "maps.mesh",
    "OccupancyMap": "maps.occupancy",
    "Pose": "poses",
    "Range": "sensing.signals",
    "Region": "locate.region",
    "Rose": "roses",
    "Scan": "sensing.scan",
    "SegmentMap": "maps.segments",
    "SurfaceGradient": "sensing.signals",
    "Tracker": "track.tracker",
    "Verdict": "locate.answer",
    "VoxelMap": "maps.voxels",
    "build": "atlas.atlas",
    "certify": "locate.certificate",
    "read_atlas": "atlas.store",
    "read_map": "io.maps",
    "read_scan": "io.scans",
    "write_atlas": "atlas.store",
    "write_map": "io.maps",
    "write_scan": "io.scans",
}
"""Where each public name lives; it is imported when it is first used, so that starting is fast."""

__all__ = [
    "Answer",
    "Atlas",
    "Certificate",
    "Descriptor",
    "Estimate",
    "Gram",
    "Intensity",
    "IsovistError",
    "Lidar",
    "MeshMap",
    "OccupancyMap",
    "Pose",
    "Range",
    "Region",
    "Rose",
    "Scan",
    "SegmentMap",
    "SurfaceGradient",
    "Tracker",
    "Verdict",
    "VoxelMap",
    "build",
    "certify",
    "locate",
    "read_atlas",
    "read_map",
    "read_scan",
    "write_atlas",
    "write_map",
    "write_scan",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'isovist' has no attribute {name!r}")
    value = getattr(import_module(f"isovist.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
