"""Folders of arrays: the one place that says where their readers and writers are."""

from isovist.storage import check_folder, location_of, read_folder, read_manifest, write_folder

__all__ = ["check_folder", "location_of", "read_folder", "read_manifest", "write_folder"]
