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
    from isovist.atlas.library import Library, read_library
    from isovist.atlas.settings import AtlasSettings, BeamModel
    from isovist.atlas.store import read_atlas, write_atlas
    from isovist.descriptor.descriptor import Descriptor
    from isovist.errors import FileError, InputError, IsovistError, MissingExtraError
    from isovist.exploration.settings import ExplorationSettings
    from isovist.io.logs.read import Log, read_log
    from isovist.io.maps.read import read_map, write_map
    from isovist.io.scans.read import read_scan, write_scan
    from isovist.localization.answer import Answer, Certificate, Estimate, Proof, Verdict
    from isovist.localization.certify import certify
    from isovist.localization.check import Check, check
    from isovist.localization.hints import Hint, hints
    from isovist.localization.locate import locate
    from isovist.localization.many import locate_many
    from isovist.localization.reasons import Reason
    from isovist.localization.region import Region
    from isovist.localization.settings import LocalizationSettings, ProofSettings
    from isovist.maps.cells import OccupancyMap
    from isovist.maps.mesh import MeshMap
    from isovist.maps.segments import SegmentMap
    from isovist.maps.voxels import VoxelMap
    from isovist.poses import Pose, Pose3
    from isovist.roses import Rose
    from isovist.sensing.cloud_scan import CloudScan
    from isovist.sensing.drift import Drift
    from isovist.sensing.lidar import Lidar
    from isovist.sensing.scan import Scan
    from isovist.sensing.signals import Intensity, Range, SurfaceGradient
    from isovist.sensing.spinning import SpinningLidar
    from isovist.surveying.settings import SurveyingSettings
    from isovist.surveying.survey import Survey, survey, write_survey
    from isovist.theory.gram import Gram
    from isovist.tracking.belief import Belief
    from isovist.tracking.links import Link
    from isovist.tracking.settings import TrackingSettings
    from isovist.tracking.start import StartFit
    from isovist.tracking.tracker import Tracker

__version__ = "0.2.0.dev0"

__all__ = [
    "Answer", "Atlas", "AtlasSettings", "BeamModel", "Belief", "Certificate", "Check",
    "CloudScan", "Descriptor", "Drift", "Estimate", "ExplorationSettings", "FileError", "Gram",
    "Hint", "InputError", "Intensity", "IsovistError", "Library", "Lidar", "Link",
    "LocalizationSettings", "Log", "MeshMap", "MissingExtraError", "OccupancyMap", "Pose",
    "Pose3", "Proof", "ProofSettings", "Range", "Reason", "Region", "Rose", "Scan", "SegmentMap",
    "SpinningLidar", "StartFit", "SurfaceGradient", "Survey", "SurveyingSettings", "Tracker",
    "TrackingSettings", "Verdict", "VoxelMap", "build", "certify", "check", "hints", "locate",
    "locate_many", "read_atlas", "read_library", "read_log", "read_map", "read_scan", "survey",
    "write_atlas", "write_map", "write_scan", "write_survey",
]  # fmt: skip

_HOME = {
    "atlas.base": "Atlas", "atlas.build": "build", "atlas.library": "Library read_library",
    "atlas.settings": "AtlasSettings BeamModel",
    "atlas.store": "read_atlas write_atlas", "descriptor.descriptor": "Descriptor",
    "errors": "FileError InputError IsovistError MissingExtraError",
    "exploration.settings": "ExplorationSettings", "io.logs.read": "Log read_log",
    "io.maps.read": "read_map write_map", "io.scans.read": "read_scan write_scan",
    "localization.answer": "Answer Certificate Estimate Proof Verdict",
    "localization.certify": "certify", "localization.check": "Check check",
    "localization.hints": "Hint hints", "localization.locate": "locate",
    "localization.many": "locate_many",
    "localization.reasons": "Reason", "localization.region": "Region",
    "localization.settings": "LocalizationSettings ProofSettings",
    "maps.cells": "OccupancyMap", "maps.mesh": "MeshMap", "maps.segments": "SegmentMap",
    "maps.voxels": "VoxelMap", "poses": "Pose Pose3", "roses": "Rose",
    "sensing.cloud_scan": "CloudScan", "sensing.lidar": "Lidar", "sensing.scan": "Scan",
    "sensing.signals": "Intensity Range SurfaceGradient", "sensing.spinning": "SpinningLidar",
    "surveying.settings": "SurveyingSettings", "surveying.survey": "Survey survey write_survey",
    "theory.gram": "Gram", "sensing.drift": "Drift", "tracking.settings": "TrackingSettings",
    "tracking.start": "StartFit", "tracking.belief": "Belief",
    "tracking.links": "Link", "tracking.tracker": "Tracker",
}  # fmt: skip
"""Where public names live; each is imported when it is first used, so that starting is fast."""


def __getattr__(name: str) -> Any:
    for home, names in _HOME.items():
        if name in names.split():
            globals()[name] = value = getattr(import_module(f"isovist.{home}"), name)
            return value
    raise AttributeError(f"module 'isovist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
