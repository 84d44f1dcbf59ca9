"""Readers and writers that are not public: the one place that says where they are."""

from isovist.apps import SessionStore, Upload, receive
from isovist.io import (
    ScanSet,
    bounded,
    has_faces,
    has_point_clouds,
    read_cloud,
    read_cloud_log,
    read_mesh,
    read_poses,
    read_scan_set,
    write_geojson,
    write_ros_map,
    write_tum,
)

__all__ = [
    "ScanSet", "SessionStore", "Upload", "bounded", "has_faces", "has_point_clouds", "read_cloud",
    "read_cloud_log", "read_mesh", "read_poses", "read_scan_set", "receive", "write_geojson",
    "write_ros_map", "write_tum",
]  # fmt: skip
